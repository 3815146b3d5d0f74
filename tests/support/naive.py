"""The five rule books once more, as slowly and plainly as possible: the real rules are compared with this.

Nothing here is shared with ``numduel_env``, not even between the two games that are one rule there. Every game has

- ``legal()``: the numbers that may be chosen now, ascending; empty once the game is over;
- ``available()``: the numbers still in the game, whether or not they may be chosen now;
- ``play(number)``, and afterwards ``removed``: what that move took out of the game, ascending;
- ``to_move`` (0 or 1), ``over``, ``truncated``, ``winner`` (0, 1 or None), ``scores`` (by seat, or None).
"""


def is_prime(number):
    return all(number % divisor != 0 for divisor in range(2, number))


class Naive:
    def __init__(self):
        self.to_move = 0
        self.over = False
        self.truncated = False
        self.winner = None
        self.scores = None
        self.removed = []

    def legal(self):
        raise NotImplementedError

    def available(self):
        raise NotImplementedError

    def apply(self, number):
        """Do what the book says happens when the player to move chooses a number; the turn passes afterwards."""
        raise NotImplementedError

    def play(self, number):
        assert not self.over
        assert number in self.legal()
        before = self.available()
        self.apply(number)
        self.removed = self.gone(before)
        self.to_move = 1 - self.to_move

    def gone(self, before):
        return [number for number in before if number not in self.available()]

    def end(self, winner):
        self.over = True
        self.winner = winner


class NaivePrimeRumble(Naive):
    def __init__(self, lowest, highest):
        super().__init__()
        self.highest = highest
        self.pool = list(range(lowest, highest + 1))

    def legal(self):
        return list(self.pool)

    def available(self):
        return list(self.pool)

    def apply(self, number):
        multiple = number
        while multiple <= self.highest:
            if multiple in self.pool:
                self.pool.remove(multiple)
            multiple += number
        if len(self.pool) == 0:
            self.end(winner=self.to_move)


class NaiveDividerDuel(Naive):
    def __init__(self, lowest, highest):
        super().__init__()
        self.shared = list(range(lowest, highest + 1))

    def legal(self):
        return list(self.shared)

    def available(self):
        return list(self.shared)

    def apply(self, number):
        self.shared = [other for other in self.shared if other % number != 0]
        if self.shared == []:
            self.end(winner=self.to_move)


class NaiveFactorChainDuel(Naive):
    def __init__(self, lowest, highest):
        super().__init__()
        self.pool = list(range(lowest, highest + 1))
        self.chain = []

    def legal(self):
        if self.chain == []:
            return list(self.pool)
        last = self.chain[-1]
        return [number for number in self.pool if last % number == 0 or number % last == 0]

    def available(self):
        return list(self.pool)

    def apply(self, number):
        self.pool.remove(number)
        self.chain.append(number)
        if self.legal() == []:
            self.end(winner=self.to_move)


class NaivePrimeDuelProduct(Naive):
    def __init__(self, target, primes_below):
        super().__init__()
        self.target = target
        self.primes = [number for number in range(2, primes_below) if is_prime(number)]
        self.scores = [1, 1]

    def legal(self):
        return [] if self.over else list(self.primes)

    def available(self):
        return list(self.primes)

    def apply(self, number):
        score = self.scores[self.to_move] * number
        self.scores[self.to_move] = score
        if score == self.target:
            self.end(winner=self.to_move)
        elif score > self.target:
            self.end(winner=1 - self.to_move)


class NaivePrimeDuelSum(Naive):
    def __init__(self, lowest, highest, target, when_empty, max_plies):
        super().__init__()
        self.numbers = list(range(lowest, highest + 1))
        self.unused = list(self.numbers)
        self.target = target
        self.when_empty = when_empty
        self.max_plies = max_plies
        self.plies = 0
        self.scores = [0, 0]

    def legal(self):
        return [] if self.over else list(self.unused)

    def available(self):
        return list(self.unused)

    def gone(self, before):
        # The list may have begun again since: then what was used last is back already.
        return [self.chosen]

    def apply(self, number):
        me, other = self.to_move, 1 - self.to_move
        self.chosen = number
        self.plies += 1
        self.unused.remove(number)
        if self.scores[me] + number <= self.target:
            self.scores[me] += number
        if is_prime(number):
            self.scores[other] = max(0, self.scores[other] - number)
        if self.scores[me] == self.target:
            self.end(winner=me)
        elif self.when_empty == "refill":
            if self.unused == []:
                self.unused = list(self.numbers)
            if self.plies == self.max_plies:
                self.truncated = True
                self.end(winner=None)
        elif self.unused == []:
            self.end(winner=self.leader() if self.when_empty == "higher" else None)

    def leader(self):
        first, second = self.scores
        if first == second:
            return None
        return 0 if first > second else 1


NAIVE = {
    "prime-rumble": NaivePrimeRumble,
    "factor-chain-duel": NaiveFactorChainDuel,
    "divider-duel": NaiveDividerDuel,
    "prime-duel-product": NaivePrimeDuelProduct,
    "prime-duel-sum": NaivePrimeDuelSum,
}
