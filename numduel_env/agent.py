"""What chooses moves: the agent protocol, the baselines random, greedy and solver, and how agents are named.

The same agent serves as ``opponent=`` of an environment, in ``evaluate``, on every command line and at the terminal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray, Position, batch_of_one, random_legal, take_rows
from numduel_env.duel import Duel
from numduel_env.outside import described, is_reference, kind_of, load, one_line
from numduel_env.rules import Rules, own_copy
from numduel_env.solvers import ILLEGAL, Solver, TooLargeToSolve, solver_for

BYTES_AT_ONCE = 2**23
"""GreedyAgent looks at replies that take about as much memory in one batch: enough to be fast, few enough for any."""


MOST_BYTES_OF_REPLIES = 10**9
"""All replies to all first moves, as positions: a second or two of work, which is the most that GreedyAgent does."""


FIRST = np.arange(1)
"""The only row of a batch of one."""


class Agent(Protocol):
    """Whatever chooses moves from positions alone."""

    def choose(self, position: Any, legal: BoolArray, generator: np.random.Generator) -> NDArray[Any]:
        """Return one legal action for each position of a batch with exactly one axis.

        ``legal`` is the action mask ``[N, A]``. Position and mask are the agent's own to write into. No position is
        finished. All randomness comes from ``generator``.
        """
        ...


class Player(Protocol):
    """Whatever chooses moves by a game's history too: a person, a language model."""

    def move(self, duel: Duel[Any], generator: np.random.Generator) -> int:
        """Return a legal action for the player to move; ``duel`` is a copy."""
        ...


AgentFactory = Callable[[Rules[Any]], Any]
"""Called with the rules; returns an :class:`Agent` or a :class:`Player`."""

AgentLike = str | Agent | Player | AgentFactory
"""An agent by name, an agent or player itself, or a factory of one."""


class RandomAgent:
    """Plays every legal move with the same probability."""

    def __init__(self, rules: Rules[Any]) -> None:
        self.rules = rules

    def choose(self, position: Any, legal: BoolArray, generator: np.random.Generator) -> NDArray[np.int64]:
        return random_legal(legal, generator)

    def move(self, duel: Duel[Any], generator: np.random.Generator) -> int:
        """Choose as ``choose`` does of a batch of one, with the same random number."""
        actions = duel.state.actions
        return actions[int(generator.random() * len(actions))]


class GreedyAgent:
    """Takes a win, avoids moves that lose or that let the opponent win at once, then goes by ``rules.appraise``.

    A two-ply search with a heuristic evaluation. It is weak where games are decided by parity rather than by mobility:
    in the sieve games it opens with 2, which loses, and on random positions it keeps about 60% in Divider Duel and a
    third in Prime Rumble, where random play keeps about 44% and a quarter. A game with so many moves and replies that
    one decision would take seconds is refused with a ``ValueError``.
    """

    LOSES, HANDS_OVER, SAFE, WINS = range(4)
    """What a move does at once: loses, lets the opponent win at once, neither, or wins."""

    def __init__(self, rules: Rules[Any]) -> None:
        self.rules = rules
        replies = self._first_replies()
        needed = replies * sum(np.asarray(field).nbytes for field in rules.initial())
        if needed > MOST_BYTES_OF_REPLIES:
            raise ValueError(
                f"greedy looks at all replies to all moves, about {replies:,} at the start of this game: too many; "
                "a smaller game, or another agent"
            )

    def _first_replies(self) -> int:
        """Return about how many replies there are to all first moves, from a few of these."""
        (moves,) = np.nonzero(self.rules.legal(self.rules.initial()))
        apart = max(len(moves) // 16, 1)
        few = moves[apart // 2 :: apart]
        after = self.rules.play(self.rules.initial((len(few),)), few)
        return int(self.rules.legal(after).sum(-1).mean() * len(moves)) if len(few) else 0

    def choose(self, position: Any, legal: BoolArray, generator: np.random.Generator) -> NDArray[np.int64]:
        return random_legal(self.preferred(position, legal), generator)

    def preferred(self, position: Any, legal: BoolArray) -> BoolArray:
        """Return ``[N, A]``, the moves between which only the generator decides."""
        rows, actions = np.nonzero(legal)
        merit = np.full((2, *legal.shape), -np.inf)
        of_position = sum(field[:1].nbytes for field in position)
        moves_at_once = max(1, BYTES_AT_ONCE // (max(of_position, 64) * len(self.rules.numbers)))
        for first in range(0, len(rows), moves_at_once):
            moves = slice(first, first + moves_at_once)
            after = self.rules.play(take_rows(position, rows[moves]), actions[moves])
            merit[:, rows[moves], actions[moves]] = self._consequence(after), -self.rules.appraise(after)
        consequence, appraisal = merit
        best = consequence == consequence.max(-1, keepdims=True)
        appraisal = np.where(best, appraisal, -np.inf)
        preferred: BoolArray = legal & best & (appraisal == appraisal.max(-1, keepdims=True))
        return preferred

    def _consequence(self, after: Position) -> NDArray[np.int64]:
        """Return what each move that led to ``after`` does at once."""
        result = self._result(after)
        consequence = np.select([result < 0, result > 0], [self.WINS, self.LOSES], self.SAFE)
        rows, replies = np.nonzero(self.rules.legal(after))
        if len(rows):
            wins = self._result(self.rules.play(take_rows(after, rows), replies)) < 0
            consequence[rows[wins]] = self.HANDS_OVER
        return consequence

    def _result(self, position: Position) -> NDArray[np.int8]:
        """Return the value of finished games to the player to move, and 0 for those that go on."""
        result: NDArray[np.int8] = np.where(self.rules.over(position), self.rules.value(position), 0)
        return result


class SolverAgent:
    """Perfect play: only moves that keep the value of the position.

    Of these, when winning, it prefers the ones that leave the opponent the fewest replies; otherwise those that leave
    the fewest replies with which the opponent keeps the value in turn. The generator breaks what ties are left. Making
    one solves the game, unless a ``solver`` is given: a large game takes seconds the first time.
    """

    def __init__(self, rules: Rules[Any], solver: Solver | None = None) -> None:
        self.rules = rules
        self.solver = solver or solver_for(rules)

    def choose(self, position: Any, legal: BoolArray, generator: np.random.Generator) -> NDArray[np.int64]:
        return random_legal(self.preferred(position, legal), generator)

    def preferred(self, position: Any, legal: BoolArray) -> BoolArray:
        """Return ``[N, A]``, the moves between which only the generator decides."""
        rules = self.rules
        values = self.solver.action_values(position)
        value = values.max(-1, keepdims=True)
        best = (values == value) & (values != ILLEGAL)
        difficulty = rules.legal(rules.play_all(position)).sum(-1)
        rows, actions = np.nonzero(best & (value <= 0))
        if len(rows):
            after = rules.play(take_rows(position, rows), actions)
            difficulty[rows, actions] = self.solver.best(after).sum(-1)
        easiest = np.iinfo(difficulty.dtype).max
        hardest = np.where(best, difficulty, easiest).min(-1, keepdims=True)
        preferred: BoolArray = best & (difficulty == hardest)
        return preferred


class NoisyAgent:
    """Plays a random legal move with probability ``epsilon``, and otherwise what another agent plays."""

    def __init__(self, agent: Agent, epsilon: float) -> None:
        if not 0 <= epsilon <= 1:
            raise ValueError(f"the probability of a random move must be from 0 to 1, not {epsilon}")
        self.agent, self.epsilon = agent, epsilon

    def choose(self, position: Any, legal: BoolArray, generator: np.random.Generator) -> NDArray[np.int64]:
        noisy = generator.random(len(legal)) < self.epsilon
        noise = random_legal(legal, generator)
        return np.where(noisy, noise, self.agent.choose(position, legal, generator))


class HistoryAgent:
    """An agent that can be asked with the moves that were played; if it ``wants_history``, it should be."""

    wants_history = True

    def choose_in(self, duels: list[Duel[Any]], generator: np.random.Generator) -> Any:
        """Return one action for each duel."""
        raise NotImplementedError


class PlayerAgent(HistoryAgent):
    """A player as an agent.

    Where only positions are known, each is played as a duel that begins with it. What the player gets are copies, the
    rules included: an array of them can be made writeable again.
    """

    def __init__(self, player: Player, rules: Rules[Any]) -> None:
        self.player, self.rules = player, own_copy(rules)

    def choose(self, position: Any, legal: BoolArray, generator: np.random.Generator) -> NDArray[Any]:
        one_each = (position._make(field[row] for field in position) for row in range(len(legal)))
        return np.asarray(self.choose_in([Duel.from_position(self.rules, one) for one in one_each], generator))

    def choose_in(self, duels: list[Duel[Any]], generator: np.random.Generator) -> Any:
        return [self.player.move(duel.copy_by(self.rules), generator) for duel in duels]


class AgentPlayer:
    """An agent as a player: unless it wants the history, it is asked about the position alone."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def move(self, duel: Duel[Any], generator: np.random.Generator) -> int:
        if isinstance(self.agent, HistoryAgent) and self.agent.wants_history:
            return int(ask_in(self.agent, [duel], generator)[0])
        (action,) = ask(self.agent, batch_of_one(duel.position), duel.legal[None], FIRST, generator)
        return int(action)


def as_player(agent: Agent) -> Player:
    """Return whom to ask for a move in a duel: it answers with one whole number, or raises ``BadAnswer``."""
    # A class derived from RandomAgent may choose otherwise.
    return agent if type(agent) is RandomAgent else AgentPlayer(agent)


class BadAnswer(ValueError):  # noqa: N818 - it says what the answer is
    """An answer that is not one action for each position.

    ``reason`` completes "the agent ..."; ``kind`` says the same without particulars, so that faults can be counted.
    """

    def __init__(self, reason: str, kind: str = "gave no answer that can be read") -> None:
        super().__init__(f"the agent {reason}")
        self.reason, self.kind = reason, kind


class Unavailable(Exception):  # noqa: N818 - it says what has become of the agent
    """Who chooses the moves cannot be asked any more, which is no fault in the game: an evaluation stops.

    The message says why in one line.
    """


def ask(
    agent: Agent, position: Position, legal: BoolArray, rows: NDArray[np.intp], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return an agent's actions in ``rows`` of a batch, or raise ``BadAnswer`` unless it is an integer for each.

    This and ``ask_in`` are the only doors through which an agent sees a game. What it gets are copies: it can write
    into them, but never change the game; and whatever it raises is a ``BadAnswer``, unless it is ``Unavailable``.
    Whether the actions exist and are legal is for the caller to see.
    """
    try:
        answer = agent.choose(take_rows(position, rows), legal.take(rows, axis=0), generator)
        return checked_answer(answer, len(rows))
    except (KeyboardInterrupt, Unavailable, BadAnswer):
        raise
    except BaseException as wrong:  # even SystemExit: the program is not the agent's to end
        raise raised(wrong) from wrong


def ask_in(agent: HistoryAgent, duels: list[Duel[Any]], generator: np.random.Generator) -> NDArray[np.int64]:
    """Return an agent's actions in duels, or raise ``BadAnswer``, as ``ask`` does."""
    try:
        return checked_answer(agent.choose_in(duels, generator), len(duels))
    except (KeyboardInterrupt, Unavailable, BadAnswer):
        raise
    except BaseException as wrong:
        raise raised(wrong) from wrong


def raised(wrong: BaseException) -> BadAnswer:
    """Return what is to be said of an agent that has raised this."""
    return BadAnswer(f"raised {described(wrong)}", f"raised {kind_of(wrong)}")


def checked_answer(answer: Any, count: int) -> NDArray[np.int64]:
    """Return an agent's answer about ``count`` positions as an array, or raise ``BadAnswer``."""
    try:
        actions = np.asarray(answer)
    except KeyboardInterrupt:
        raise
    except BaseException as wrong:
        raise BadAnswer(f"answered with {shown(answer)}, which is no array") from wrong
    if actions.dtype.kind not in "iu":
        raise BadAnswer(f"answered with {shown(answer)}: actions are whole numbers", "gave no whole numbers")
    if actions.shape != (count,):
        reason = f"answered with an array of shape {actions.shape} when asked about {count} position(s)"
        raise BadAnswer(reason, "answered with another number of actions")
    return actions.astype(np.int64)


def shown(answer: Any) -> str:
    """Return an answer as it may stand in a message, whatever it is."""
    try:
        return one_line(repr(answer))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return "something that cannot be shown"


@dataclass(frozen=True)
class NamedAgent:
    """An agent that can be named: ``name`` or ``name:argument``.

    ``make`` is called with the rules and the argument ("" if there is none). ``usage`` is what help and errors show.
    """

    make: Callable[[Rules[Any], str], Agent]
    usage: tuple[str, ...]


AGENTS: dict[str, NamedAgent] = {}
"""The agents that can be named, by the first word of their name."""


def register_agent(name: str, make: Callable[[Rules[Any], str], Agent], *usage: str) -> None:
    """Let an agent be named wherever agents are named."""
    AGENTS[name] = NamedAgent(make, usage or (name,))


def agent_names() -> str:
    """Return how agents can be named, for help and errors."""
    return ", ".join([*(usage for named in AGENTS.values() for usage in named.usage), "module:attribute"])


def without_argument(factory: AgentFactory) -> Callable[[Rules[Any], str], Agent]:
    """Return how an agent is made that is named by a single word."""

    def make(rules: Rules[Any], argument: str) -> Agent:
        if argument:
            raise ValueError(f"nothing is known about {argument!r} behind the colon")
        agent: Agent = factory(rules)
        return agent

    return make


def solver_agent(rules: Rules[Any], argument: str) -> Agent:
    """Return perfect play; with an argument, perfect but for this share of random moves."""
    if not argument:
        return SolverAgent(rules)
    try:
        epsilon = float(argument)
    except ValueError:
        raise ValueError(f"solver:EPS needs a probability from 0 to 1, not {argument!r}") from None
    return NoisyAgent(SolverAgent(rules), epsilon)


register_agent("random", without_argument(RandomAgent))
register_agent("greedy", without_argument(GreedyAgent))
register_agent("solver", solver_agent, "solver", "solver:EPS")


def make_agent(agent: AgentLike, rules: Rules[Any]) -> Agent:
    """Return the agent for ``rules`` that is meant by a name, a factory, or an agent or player made before.

    A name is one of :func:`agent_names`; ``module:attribute`` is imported and must be a factory. Raises a
    ``ValueError`` that says what is wrong, or ``TooLargeToSolve``.
    """
    if isinstance(agent, str):
        word, colon, argument = agent.partition(":")
        if word in AGENTS:
            if colon and not argument:
                usage = " or ".join(AGENTS[word].usage)
                raise ValueError(f"the agent {agent!r} has nothing behind the colon; it is named {usage}")
            try:
                return AGENTS[word].make(rules, argument)
            except TooLargeToSolve:
                raise
            except ValueError as wrong:
                raise ValueError(f"the agent {agent!r}: {wrong}") from wrong
        if is_reference(agent):
            return _manufactured(load(agent), rules, agent)
        raise ValueError(f"there is no agent {agent!r}; there are {agent_names()}")
    if isinstance(agent, type) or not (hasattr(agent, "choose") or hasattr(agent, "move")):
        if not callable(agent):
            raise ValueError(
                f"an agent is a name ({agent_names()}), a factory or has a method choose, unlike {shown(agent)}"
            )
        return _manufactured(agent, rules, getattr(agent, "__name__", "") or shown(agent))
    theirs = getattr(agent, "rules", None)
    if isinstance(theirs, Rules) and not np.array_equal(theirs.numbers, rules.numbers):
        raise ValueError(f"the agent was made for the numbers {theirs.numbers}, not for {rules.numbers}")
    made = _as_agent(agent, rules)
    if made is None:
        raise ValueError(f"what an agent calls choose or move must be a method, unlike that of {shown(agent)}")
    return made


def _manufactured(factory: AgentFactory, rules: Rules[Any], name: str) -> Agent:
    try:
        made = factory(own_copy(rules))
        agent = _as_agent(made, rules)
    except (TooLargeToSolve, KeyboardInterrupt):
        raise
    except BaseException as wrong:  # a user's own code may do anything, sys.exit included
        raise ValueError(f"{name}(rules) raised {described(wrong)}") from wrong
    if agent is None:
        signature = "choose(position, legal, generator) or move(duel, generator)"
        raise ValueError(f"{name}(rules) must return an object with {signature}, not {shown(made)}")
    return agent


def _as_agent(made: Any, rules: Rules[Any]) -> Agent | None:
    """Return an agent as it is, a player as an agent, and None for what is neither."""
    if callable(getattr(made, "choose", None)):
        agent: Agent = made
        return agent
    return PlayerAgent(made, rules) if callable(getattr(made, "move", None)) else None
