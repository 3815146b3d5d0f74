"""Positions in batches: what a position is, how rows are taken out and put back, and random moves for all of them.

A *position* is a NamedTuple of arrays. Their leading axes are a batch; behind them a field has one axis of its own
(``[..., k]``, such as which numbers are left) or none (``[...]``, such as a score).
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]


Position = NamedTuple
"""Any NamedTuple of arrays; every game has its own."""

PositionT = TypeVar("PositionT", bound=NamedTuple)


def take_rows(position: PositionT, rows: Any) -> PositionT:
    """Return the games ``rows`` (indices into the first axis) of a batch, as copies."""
    return position._make(field.take(rows, axis=0) for field in position)


def put_rows(position: Position, rows: Any, games: Position) -> None:
    """Write ``games`` over the games ``rows`` of a batch, in place."""
    for field, new in zip(position, games, strict=True):
        field[rows] = new


def masked_rows(table: BoolArray, rows: Any, flags: BoolArray) -> BoolArray:
    """Return ``table[rows] & flags``, a fresh array, for one row or for a batch of them.

    ``take`` is many times as fast as fancy indexing, but slower than a view where only one row is wanted; and a batch
    is worth a second array no more than a single row is worth a second call.
    """
    if not isinstance(rows, np.ndarray):
        one: BoolArray = table[rows] & flags
        return one
    taken = table.take(rows, axis=0)
    taken &= flags
    return taken


def flattened(position: PositionT, batch_axes: int) -> PositionT:
    """Return a batch with ``batch_axes`` axes as a batch with one."""
    return position._make(np.reshape(field, (-1, *np.shape(field)[batch_axes:])) for field in position)


def batch_of_one(position: PositionT) -> PositionT:
    """Return a single game as a batch of one, as a copy."""
    return position._make(np.array(field)[None] for field in position)


def any_legal(mask: BoolArray) -> BoolArray:
    """Return ``mask.any(-1)``, whether each mask ``[..., A]`` allows anything, faster than NumPy does on short rows."""
    size = mask.shape[-1]
    if size < 32:
        # Not a product with ones, though BLAS is as fast: on machines with AVX-512 it reads past the end of some short
        # rows, and NumPy then warns of an invalid value that is not in the mask.
        allowed: BoolArray = np.logical_or.reduce(np.ascontiguousarray(mask.T)).T
        return allowed
    flags = np.bitwise_or.reduceat(mask.view(np.uint8).ravel(), np.arange(0, mask.size, size))
    return flags.view(np.bool_).reshape(mask.shape[:-1])


FEW = 2_048
"""Batches of masks with at most this many entries count as small."""

MANY_WORDS = 8
"""Masks of more words are searched at once, by running counts, and not word by word."""

# What ``random_legal`` reads from a mask packed into 64-bit words, eight bytes at a time.
WORD = 64
ONE_IN_EACH_BYTE = np.uint64(0x0101010101010101)
HIGH_IN_EACH_BYTE = np.uint64(0x8080808080808080)
LAST_BYTE = np.uint64(0xFF)
EIGHT = np.uint64(8)
TOP_BYTE = np.uint64(WORD - 8)


def packed_words(flags: NDArray[Any]) -> NDArray[np.uint64]:
    """Return rows ``[N, k]`` of flags (bool, or 0 and 1 of any type) as ``[N, words]``, flag 0 in the lowest bit."""
    words_per_row = -(-flags.shape[-1] // WORD)
    padded = np.zeros((len(flags), words_per_row * WORD), bool)
    padded[:, : flags.shape[-1]] = flags
    return np.packbits(padded.ravel(), bitorder="little").view("<u8").reshape(-1, words_per_row)


def count_legal(mask: BoolArray) -> NDArray[np.int64]:
    """Return ``mask.sum(-1)`` of masks ``[N, A]``, faster than NumPy does it for thousands of them."""
    words = np.bitwise_count(packed_words(mask))
    counts = words[:, 0].astype(np.int64)
    for word in words.T[1:]:
        counts += word
    return counts


def _nth_set_bits() -> NDArray[np.uint8]:
    """Return, at ``8 * byte + n``, the position of the n-th set bit of ``byte``."""
    positions = np.zeros((256, 8), np.uint8)
    for byte in range(256):
        ones = [bit for bit in range(8) if byte >> bit & 1]
        positions[byte, : len(ones)] = ones
    return positions.ravel()


NTH_SET_BIT = _nth_set_bits()


def random_legal(mask: NDArray[Any], generator: np.random.Generator) -> NDArray[np.int64]:
    """Return one action for each mask ``[..., A]`` (bool, or 0 and 1 of any type), uniformly among those it allows.

    Where a mask allows nothing the answer is 0. One number is drawn for each mask, whatever it allows. For a single
    mask that allows something this is::

        np.flatnonzero(mask)[int(generator.random() * np.count_nonzero(mask))]

    Few masks are answered by running counts. For thousands at once a rank is drawn among the set bits of each, and the
    bit of that rank (a *select* query on a bit vector) is found first by word, then by byte, then by table within the
    byte.
    """
    mask = np.asarray(mask)
    if mask.ndim == 0 or mask.shape[-1] == 0:
        raise ValueError(f"a mask has one entry for each action, unlike one of shape {mask.shape}")
    rows = mask.reshape(-1, mask.shape[-1])
    if rows.size <= FEW:
        running = rows.cumsum(-1, dtype=np.int64)
        ranks = (generator.random(len(rows)) * running[:, -1]).astype(np.int64)
        few: NDArray[np.int64] = (running > ranks[:, None]).argmax(-1)
        return few.reshape(mask.shape[:-1])
    words = packed_words(rows)
    words_per_mask = words.shape[1]
    words = words.ravel()
    # The product adds up the bytes of a word from the lowest: byte k becomes the number of set bits in bytes 0..k.
    counts = np.bitwise_count(words.view(np.uint8)).view("<u8") * ONE_IN_EACH_BYTE
    totals = (counts >> TOP_BYTE).reshape(-1, words_per_mask).T
    total = sum(totals[1:], totals[0])
    rank = (generator.random(len(rows)) * total).astype(np.uint64)
    first_action: NDArray[np.int64] | int = 0
    if words_per_mask > 1:
        # The word that holds the bit of that rank, and the rank within the word.
        word = np.zeros(len(rows), np.int64)
        if words_per_mask > MANY_WORDS:
            running = totals.cumsum(0, dtype=np.uint64)
            word = (running <= rank).sum(0) * (total > 0)
            rank -= running[word - 1, np.arange(len(rows))] * (word > 0)
        else:
            for place, count in enumerate(totals[:-1]):
                passed = (word == place) & (rank >= count) & (total > 0)
                rank -= count * passed
                word += passed
        at = np.arange(0, len(words), words_per_mask) + word
        words, counts, first_action = words.take(at), counts.take(at), word * WORD
    # The byte within the word: it is preceded by the bytes whose running count is at most the rank. All counts are
    # below 128, so one subtraction compares eight bytes: the high bit of each stays set where rank >= count.
    # (In an empty word the rank is 0, and the byte found is the first.)
    bytes_before = np.bitwise_count(((rank * ONE_IN_EACH_BYTE | HIGH_IN_EACH_BYTE) - counts) & HIGH_IN_EACH_BYTE)
    bits_before = (bytes_before << 3 & 63).astype(np.uint64)
    rank -= ((counts << EIGHT) >> bits_before) & LAST_BYTE
    byte = (words >> bits_before) & LAST_BYTE
    bit_in_byte = NTH_SET_BIT.take((byte * EIGHT | rank).view(np.int64))
    actions: NDArray[np.int64] = bits_before.view(np.int64) + bit_in_byte + first_action
    return actions.reshape(mask.shape[:-1])
