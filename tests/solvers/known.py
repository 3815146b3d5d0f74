"""What perfect play makes of the books' games."""

REFILL = {"when_empty": "refill"}

# Winner (to the first player), winning openings, drawing openings.
KNOWN = [
    ("divider-duel", {}, 1, [4], []),
    ("prime-rumble", {}, 1, [5, 17, 19, 23, 42], []),
    ("factor-chain-duel", {}, 1, sorted(set(range(2, 51)) - {5, 7, 34, 38, 46, 50}), []),
    ("prime-duel-product", {}, 1, [2, 5], []),
    ("prime-duel-sum", {}, 1, [5, 7, 8, 9, 10], [3, 6]),
    ("prime-duel-sum", REFILL, -1, [], []),
]
