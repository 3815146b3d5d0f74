"""Players that answer in writing, whoever they are: what they write is kept, and nobody is asked twice."""

from __future__ import annotations

import json

import pytest

from numduel_env import evaluate
from numduel_env.agent import BadAnswer, Unavailable
from numduel_env.dialogue import Conversation, Refusal
from numduel_env.evaluation.results import Results
from numduel_env.games import game_of
from numduel_env.writing import Exchange, WritingPlayer


class Scribe(WritingPlayer):
    """Writes its first replies, one after another, and then the smallest legal number."""

    def __init__(self, rules, first=(), patience=10**9, settings=None):
        self.rules, self.first, self.patience = rules, list(first), patience
        self.settings = settings or {"model": "a <b>scribe</b>", "temperature": None}
        self.asked = 0

    def converse(self, duels, notes):
        return [self.answer(duel, place, notes) for place, duel in enumerate(duels)]

    def answer(self, duel, place, notes):
        talk = Conversation(game_of(self.rules), duel, retries=1)
        known = iter(notes.known(place))
        while True:
            exchange = next(known, None) or self.write(talk, duel)
            if exchange not in notes.known(place):
                notes.add(place, exchange)
            answer = talk.read(exchange.reply)
            if not isinstance(answer, Refusal):
                return answer
            if talk.over:
                return BadAnswer("gave up", answer.kind)

    def write(self, talk, duel):
        if self.asked == self.patience:
            raise Unavailable("the scribe has gone home")
        self.asked += 1
        reply = self.first.pop(0) if self.first else f"[{duel.legal_numbers[0]}]"
        # The seconds tell exchanges apart.
        return Exchange(talk.prompt, reply, None if reply.startswith("[") else "unreadable", None, 1, self.asked / 1000)


def evaluated(scribes, journal=None, **options):
    def make(rules):
        scribes.append(Scribe(rules, **options))
        return scribes[-1]

    return evaluate("divider-duel", {"scribe": make, "random": "random"}, duels=8, seed=4, journal=journal)


def test_what_was_written_is_counted_and_kept(tmp_path):
    scribes = []
    results = evaluated(scribes, first=["well", "[4]", "hm", "hm"])
    written = results.agents[0].written
    assert written.replies == written.completion_tokens == scribes[0].asked
    assert written.refused == {"unreadable": 3} and written.faults == {"unreadable": 1}
    assert written.prompt_tokens is None and written.settings["temperature"] is None
    assert results.agents[1].written is None
    results.save(tmp_path / "results.json")
    assert Results.load(tmp_path / "results.json") == results
    results.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "a &lt;b&gt;scribe" in page and "<b>" not in page


def test_progress_is_shown_after_each_move():
    seen = []
    agents = {"scribe": lambda rules: Scribe(rules, first=["well"]), "random": "random"}
    results = evaluate("divider-duel", agents, duels=8, progress=lambda task, done, total: seen.append((task, done)))
    moves = [done for task, done in seen if task == "moves"]
    assert moves == sorted(moves) and moves[-1] == sum(agent.moves for agent in results.agents)
    assert sum(after - before == 1 for before, after in zip([0, *moves], moves)) >= results.agents[0].moves


def test_results_without_writing_are_still_read(tmp_path):
    results = evaluate("divider-duel", ["random", "random"], duels=2)
    older = json.loads(results.to_json())
    for agent in older["agents"]:
        del agent["written"]
    for sample in older["samples"]:
        del sample["remarks"]
    (tmp_path / "older.json").write_text(json.dumps(older))
    assert Results.load(tmp_path / "older.json") == results


@pytest.mark.parametrize("patience", [0, 1, 2, 5, 9])
def test_one_who_cannot_be_asked_any_more_stops_the_evaluation(tmp_path, patience):
    """Refused replies in the middle of a move are not asked for again either."""
    first = ["well", "[4]", "hm", "[9]"]
    whole = evaluated(scribes := [], first=first)
    total = scribes[0].asked
    with pytest.raises(Unavailable, match="gone home"):
        evaluated(scribes, tmp_path / "journal", first=first, patience=patience)
    resumed = evaluated(scribes, tmp_path / "journal", first=first[patience:])
    assert scribes[-1].asked == total - patience
    assert without_times(resumed) == without_times(whole)


def without_times(results):
    plain = json.loads(results.to_json())
    for agent in plain["agents"]:
        agent["ms_per_move"] = 0
        if agent["written"]:
            agent["written"]["seconds"] = 0
    return plain


def test_other_settings_are_another_evaluation(tmp_path):
    with pytest.raises(Unavailable):
        evaluated([], tmp_path / "journal", patience=3)
    with pytest.raises(ValueError, match="with settings"):
        evaluated([], tmp_path / "journal", settings={"model": "another"})


def test_every_line_is_too_much_to_ask():
    with pytest.raises(ValueError, match="exploit asks about every line, too much for scribe"):
        evaluate("divider-duel", {"scribe": Scribe, "random": "random"}, duels=2, exploit=True)
