import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from conspectus.pipelines.steps.communities import Before, Division, divide
from conspectus.pipelines.steps.sentences import RowsOf, Sentences, sentences_of
from conspectus.query.context import Context
from conspectus.storage.arrays import Rows
from conspectus.storage.index import StoredIndex
from conspectus.storage.joins import Groups
from conspectus.storage.records import Chunk, Community, Document, Entity, Mention, Relation
from conspectus.storage.settings import CommunitySettings
from conspectus.storage.spilled import spilling_to


@dataclass(frozen=True)
class Corpus:
    """What communities are made of."""

    entities: list[Entity]
    relations: list[Relation]
    mentions: list[Mention]
    sentences: Sentences


@pytest.fixture(scope="module")
def corpus(context: Context) -> Corpus:
    return corpus_of(context.index)


def corpus_of(index: StoredIndex) -> Corpus:
    mentions = index.rows(Mention)
    sentences = sentences_of(index.rows(Document), index.rows(Chunk), mentions)
    return Corpus(index.rows(Entity), index.rows(Relation), mentions, sentences)


def communities_of(corpus: Corpus, **settings: object) -> list[Community]:
    chosen = CommunitySettings.model_validate(settings)
    return divide(corpus.entities, corpus.relations, corpus.mentions, corpus.sentences, chosen).communities


@pytest.fixture(scope="module")
def communities(corpus: Corpus) -> list[Community]:
    return communities_of(corpus)


def by_level(communities: list[Community]) -> dict[int, list[Community]]:
    levels: defaultdict[int, list[Community]] = defaultdict(list)
    for each in communities:
        levels[each.level].append(each)
    assert sorted(levels) == list(range(len(levels)))
    return levels


def test_parents_contain_their_children(communities: list[Community]) -> None:
    found = {each.id: each for each in communities}
    assert len(found) == len(communities)
    assert [each.id for each in communities] == sorted(found)
    children: defaultdict[str, set[str]] = defaultdict(set)
    for each in communities:
        if each.level == 0:
            assert each.parent_id is None
        else:
            assert each.parent_id is not None
            assert found[each.parent_id].level == each.level - 1
            assert set(each.entity_ids) <= set(found[each.parent_id].entity_ids)
            children[each.parent_id].update(each.entity_ids)
    deepest = max(each.level for each in communities)
    for each in communities:
        assert each.level == deepest or children[each.id] == set(each.entity_ids)


def test_what_is_carried_down_names_its_first_appearance(communities: list[Community]) -> None:
    found = {each.id: each for each in communities}
    for each in communities:
        same = [other for other in communities if other.entity_ids == each.entity_ids]
        first = min(same, key=lambda other: other.level)
        assert each.same_as == (None if each is first else first.id)
        assert [other.level for other in sorted(same, key=lambda other: other.level)] == list(
            range(first.level, first.level + len(same))
        )
    assert any(each.same_as for each in communities)
    assert all(found[each.same_as].same_as is None for each in communities if each.same_as)


def test_the_order_of_the_input_leaves_no_trace(communities: list[Community], corpus: Corpus) -> None:
    """Entities stand in the order of their table; everything else may come in any."""
    chance = random.Random(5)
    relations, mentions = list(corpus.relations), list(corpus.mentions)
    of_entity = list(corpus.sentences.placed.of_entity.items())
    for each in (relations, mentions, of_entity):
        chance.shuffle(each)
    shuffled = Corpus(corpus.entities, relations, mentions, with_rows(corpus, dict(of_entity)))
    assert communities_of(shuffled) == communities


def test_large_ones_are_made_in_blocks(communities: list[Community], corpus: Corpus, tmp_path: Path) -> None:
    with (
        spilling_to(tmp_path),
        patch("conspectus.storage.spilled.BYTES_IN_MEMORY", 400),
        patch("conspectus.storage.joins._PAIRS_AT_ONCE", 50),
        patch("conspectus.pipelines.steps.communities._RELATIONS_AT_ONCE", 20),
        patch("conspectus.pipelines.steps.communities._MEMBERS_AT_ONCE", 10),
    ):
        assert communities_of(corpus) == communities


def small(names: str, sentences: list[str]) -> Corpus:
    """Entities of one letter each; a sentence names its letters."""
    text = " ".join(f"{' '.join(each)} and so on it goes." for each in sentences)
    one = Document("d", "", "d", text, {}, len(text), "")
    chunk = Chunk("c", "d", 0, 0, len(text), text, 1)
    entities = [Entity(name, name, "X", ("X",), "", 1, 0) for name in names]
    mentions = [
        Mention(f"{i}", "c", letter, None, i, i + 1, "exact", letter, "")
        for i, letter in enumerate(text)
        if letter in names
    ]
    return Corpus(entities, [], mentions, sentences_of([one], [chunk], mentions))


def groups(communities: list[Community], level: int = 0) -> set[frozenset[str]]:
    return {frozenset(each.entity_ids) for each in communities if each.level == level}


def test_sentences_that_name_two_join_them() -> None:
    corpus = small("ABCDEFG", ["AB", "BC", "AC", "DE", "EF", "DF", "CD"])
    assert groups(communities_of(corpus)) == {frozenset("ABC"), frozenset("DEF"), frozenset("G")}


def test_a_sentence_that_names_many_says_less_about_any_two() -> None:
    """Each name's part of a sentence is one, shared among the others: 1/3 of a link each here, against 1."""
    corpus = small("ABCDEFGH", ["ABCD", "EFGH", "AE", "BF", "CG", "DH"])
    assert groups(communities_of(corpus)) == {frozenset(pair) for pair in ("AE", "BF", "CG", "DH")}


def test_a_list_of_names_joins_nothing() -> None:
    twelve, thirteen = "ABCDEFGHIJKL", "ABCDEFGHIJKLM"
    assert len(groups(communities_of(small(twelve, [twelve]), max_cluster_size=20))) == 1
    assert len(groups(communities_of(small(thirteen, [thirteen]), max_cluster_size=20))) == 13


def with_rows(corpus: Corpus, of_entity: Mapping[str, Rows]) -> Sentences:
    groups = np.repeat(np.arange(len(of_entity)), [len(rows) for rows in of_entity.values()])
    members = np.concatenate([np.zeros(0, np.int64), *of_entity.values()])
    rows = RowsOf(pa.array(list(of_entity), pa.string()), Groups.of(groups, members, len(of_entity)))
    return replace(corpus.sentences, placed=replace(corpus.sentences.placed, of_entity=rows))


def without(corpus: Corpus, gone: str) -> Corpus:
    """Return a corpus in which one entity is not found."""
    relations = [each for each in corpus.relations if gone not in (each.source_id, each.target_id)]
    named = {id_: rows for id_, rows in corpus.sentences.placed.of_entity.items() if id_ != gone}
    mentions = [each for each in corpus.mentions if each.entity_id != gone]
    entities = [each for each in corpus.entities if each.id != gone]
    return Corpus(entities, relations, mentions, with_rows(corpus, named))


def updated(corpus: Corpus, before: Before) -> Division:
    return divide(
        corpus.entities,
        corpus.relations,
        corpus.mentions,
        corpus.sentences,
        CommunitySettings(),
        lambda with_sentences: before if with_sentences else replace(before, named=None),
    )


def test_a_higher_resolution_gives_more_communities(corpus: Corpus) -> None:
    assert len(by_level(communities_of(corpus, resolution=5.0))[0]) > len(by_level(communities_of(corpus))[0])


def before_of(corpus: Corpus, communities: list[Community]) -> Before:
    return Before(corpus.entities, corpus.relations, corpus.sentences.placed.of_entity, communities)


def ring(count: int, sentences: int) -> Corpus:
    """Entities in a ring, named with others nearby: so many communities that most are far from any one entity."""
    chance = random.Random(0)
    names = "".join(chr(0x4E00 + number) for number in range(count))
    starts = [number * count // sentences for number in range(sentences)]
    near = ({names[(start + chance.randrange(12)) % count] for _ in range(3)} for start in starts)
    return small(names, ["".join(sorted(letters)) for letters in near])


def test_what_a_change_does_not_touch_stays() -> None:
    large = ring(1000, 1500)
    communities = communities_of(large)
    same = updated(large, before_of(large, communities))
    assert same == Division(communities)
    gone = large.entities[500]
    rest = without(large, gone.id)
    kept = {each.id for each in communities}
    now = updated(rest, before_of(large, communities))
    assert now.notes == ()
    share = sum(each.id in kept for each in now.communities) / len(now.communities)
    anew = communities_of(rest)
    assert share > 0.97
    assert share > sum(each.id in kept for each in anew) / len(anew)


def test_where_what_was_kept_is_worse_it_is_divided_anew(corpus: Corpus, communities: list[Community]) -> None:
    alone = [Community(each.id, 0, None, None, False, (each.id,), (), (), 1) for each in corpus.entities]
    found = updated(corpus, before_of(corpus, alone))
    assert found.communities == communities
    assert found.notes[0].startswith("the communities were detected again: ")
    assert updated(corpus, before_of(corpus, [])) == Division(communities), "there was nothing to keep"
