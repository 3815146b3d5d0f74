"""A uniformly random legal action for thousands of games at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

WORD = 64
ONE_IN_EACH_BYTE = np.uint64(0x0101010101010101)
HIGH_IN_EACH_BYTE = np.uint64(0x8080808080808080)
LAST_BYTE = np.uint64(0xFF)
EIGHT = np.uint64(8)
TOP_BYTE = np.uint64(WORD - 8)


def _places_in_byte() -> NDArray[np.uint8]:
    """Return, for every byte and rank (at ``8 * byte + rank``), the place of the bit that has that rank in it."""
    places = np.zeros((256, 8), np.uint8)
    for byte in range(256):
        ones = [bit for bit in range(8) if byte >> bit & 1]
        places[byte, : len(ones)] = ones
    return places.ravel()


PLACES_IN_BYTE = _places_in_byte()


def random_legal(mask: NDArray[Any], generator: np.random.Generator) -> NDArray[np.int64]:
    """Return one action for each mask ``[..., A]`` (bool, or 0 and 1 of any type), uniformly among those it allows.

    Where a mask allows nothing the answer is 0. One number is drawn for each mask, whatever it allows.
    """
    size = mask.shape[-1]
    words_per_mask = -(-size // WORD)
    rows = mask.reshape(-1, size)
    padded = np.zeros((len(rows), words_per_mask * WORD), bool)
    padded[:, :size] = rows
    packed = np.packbits(padded.ravel(), bitorder="little")
    words = packed.view("<u8")
    # Multiplying sums the bytes of a word from the lowest up: byte k becomes the count of legal actions in bytes 0..k.
    counts = np.bitwise_count(packed).view("<u8") * ONE_IN_EACH_BYTE
    totals = (counts >> TOP_BYTE).reshape(-1, words_per_mask).T
    total = sum(totals[1:], totals[0])
    rank = (generator.random(len(rows)) * total).astype(np.uint64)
    first_action: NDArray[np.int64] | int = 0
    if words_per_mask > 1:
        # The word that holds the action of that rank, and the rank within the word.
        word = np.zeros(len(rows), np.int64)
        for place, count in enumerate(totals[:-1]):
            passed = (word == place) & (rank >= count) & (total > 0)
            rank -= count * passed
            word += passed
        at = np.arange(0, len(words), words_per_mask) + word
        words, counts, first_action = words.take(at), counts.take(at), word * WORD
    # The byte within the word: as many bytes come before it as have counts up to the rank. All are below 128, so
    # the comparison of eight bytes at once leaves its answer in their high bits. (An empty word is left at byte 0.)
    bytes_before = np.bitwise_count(((rank * ONE_IN_EACH_BYTE | HIGH_IN_EACH_BYTE) - counts) & HIGH_IN_EACH_BYTE)
    bits_before = (bytes_before << 3 & 63).astype(np.uint64)
    rank -= ((counts << EIGHT) >> bits_before) & LAST_BYTE
    byte = (words >> bits_before) & LAST_BYTE
    place_in_byte = PLACES_IN_BYTE.take((byte * EIGHT | rank).view(np.int64))
    actions: NDArray[np.int64] = bits_before.view(np.int64) + place_in_byte + first_action
    return actions.reshape(mask.shape[:-1])
