"""Whether two corpora hold the same: the proof that an index equals one that is built from the files."""

from typing import Any

import numpy as np

from .corpus import Corpus
from .entries import UNIT_FIELDS
from .keyword import KeywordIndex
from .keyword_columns import Ints

# What a unit is, apart from the numbers it happens to have in one corpus.
_COMPARED = tuple(name for name in UNIT_FIELDS if name not in ("file", "stretch", "place", "speaker", "section"))


def differences(index: Corpus, fresh: Corpus) -> list[str]:
    """What an index has that one built from the files has not, or the other way round: a sentence for each file."""
    out = [
        f"{path}: in the index, but no such file is to be indexed" for path in index.files.keys() - fresh.files.keys()
    ]
    out += [f"{path}: not in the index" for path in fresh.files.keys() - index.files.keys()]
    known, found = _by_file(index), _by_file(fresh)
    for path in sorted(known.keys() & found.keys()):
        if index.files[path].digest != fresh.files[path].digest:
            out.append(f"{path}: indexed with other content than it has now")
        else:
            out += [f"{path}: its {name} differ from the file's" for name in _unlike(known[path], found[path])]
    return sorted(out)


def _unlike(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    return [name for name in one if one[name] != other[name]]


def _by_file(corpus: Corpus) -> dict[str, dict[str, Any]]:
    corpus.tidy(always=True)
    terms, labels = term_sums(corpus.units), term_sums(corpus.labels)
    anchors = term_sums(corpus.anchors.index)
    speakers = [*corpus.speakers, ""]
    out = {}
    for path, entry in corpus.files.items():
        slots = entry.slots
        numbers, sections = corpus.column("section")[slots].tolist(), entry.sections
        links = corpus.anchors.links_of(path)
        out[path] = {
            "passages": [corpus.column(name)[slots].tolist() for name in _COMPARED],
            "speakers": [speakers[one] for one in corpus.column("speaker")[slots].tolist()],
            "headings": [sections[one] if 0 <= one < len(sections) else () for one in numbers],
            "terms": terms[slots].tolist(),
            "fields": (entry.title, entry.tags, entry.aliases, entry.day, entry.kind, int(labels[entry.label_slot])),
            "wikilinks": entry.links,
            "links": [(target, int(anchors[slot])) for slot, target in links],
        }
    return out


def term_sums(index: KeywordIndex) -> Ints:
    """A 64-bit sum over the terms of each text and their places, by slot: equal for equal texts. Merge first."""
    import hashlib

    names, columns = index.names(), index.columns()
    digests = [hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest() for name in names]
    of_term = np.frombuffer(b"".join(digests), np.uint64)
    of_posting = np.repeat(of_term, np.diff(columns.indptr))
    out = np.zeros(index.slots, np.uint64)
    slots, tf = columns.slots, columns.tf
    if len(columns.positions):
        places = 2 * columns.positions.astype(np.uint64) + 1
        np.add.at(out, np.repeat(slots, tf), np.repeat(of_posting, tf) * places)
    else:
        np.add.at(out, slots, of_posting * tf.astype(np.uint64))
    return out
