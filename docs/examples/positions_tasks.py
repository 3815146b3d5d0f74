"""Solved positions as single-turn tasks with an exact reward, and as a table of Hugging Face `datasets`, offline.

numduel positions --game divider-duel --split train --out train.jsonl
python docs/examples/positions_tasks.py train.jsonl
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from numduel_env.dialogue import Unreadable, read_number


def tasks(path: str) -> Iterator[dict[str, Any]]:
    """Yield what most trainers take: messages, and beside them what the reward needs."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            position = json.loads(line)
            messages = [{"role": "user", "content": position["text"]}]
            yield {"prompt": messages, **{name: position[name] for name in ("id", "value", "legal", "values")}}


def reward(reply: str, task: dict[str, Any]) -> float | None:
    """Return 1 for a move that keeps the value and 0 for any other reply; None where every move loses."""
    if task["value"] < 0:
        return None
    try:
        number = read_number(reply)
    except Unreadable:
        return 0.0
    return float(number in task["legal"] and task["values"][task["legal"].index(number)] == task["value"])


if __name__ == "__main__":
    from datasets import Dataset, load_dataset  # pip install datasets

    path = sys.argv[1]
    print(load_dataset("json", data_files=path, split="train"))  # every field as it is
    print(Dataset.from_list(list(tasks(path)))[0])  # or the tasks
