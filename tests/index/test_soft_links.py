"""Where links lead is remembered between questions, and forgotten when a file that is spelled alike comes or goes."""

import pytest

from agentscope_reme.index.corpus import Corpus
from agentscope_reme.index.entries import FileEntry
from agentscope_reme.index.graph import LinkGraph
from agentscope_reme.index.link_words import Anchor
from agentscope_reme.index.soft_links import SoftLinks
from agentscope_reme.index.store import Store
from agentscope_reme.models import FileLink


class Vault:
    """A store whose files have names and no text; ``asked`` counts what is looked up in the graph."""

    def __init__(self) -> None:
        self.store = Store(Corpus(), LinkGraph())
        self.links = SoftLinks(self.store)
        self.asked: list[str] = []
        self.put("links.md", links=("cats", "Cats.md", "dogs", "felines", "n7"))
        self.count()

    def count(self) -> None:
        real = self.store.graph.softly

        def softly(target):
            self.asked.append(target)
            return real(target)

        self.store.graph.softly = softly

    def put(self, path: str, *aliases: str, links: tuple[str, ...] = ()) -> None:
        title = path.rpartition("/")[2].removesuffix(".md")
        anchors = tuple(Anchor(target, (f"around {target}",)) for target in links)
        entry = FileEntry(path, 0, 0, 0, 0, "0" * 64, title=title, aliases=aliases, anchors=anchors)
        self.store.corpus.put(entry, [])
        written = tuple(FileLink(path, target) for target in links)
        self.store.graph.set_file(path, written, (entry.title, *aliases))

    def remove(self, path: str) -> None:
        self.store.corpus.remove(path)
        self.store.graph.remove_file(path)

    def reopen(self) -> None:
        """What is stored, read again."""
        self.store.corpus, old = Corpus.load(*self.store.corpus.dump()), self.store.graph
        self.store.graph = LinkGraph()
        for path, entry in self.store.corpus.files.items():
            self.store.graph.set_file(path, old.links(path), (entry.title, *entry.aliases))
        self.links = SoftLinks(self.store)
        self.asked.clear()
        self.count()

    def lead(self, *targets: str) -> list[str | None]:
        """Where links lead, by asking for the words around them."""
        current, anchors = self.links.current(), self.store.corpus.anchors
        return [next(iter(anchors.scores([f"around {target}"], current)), None) for target in targets]


def test_a_target_is_looked_up_once_whatever_else_is_written():
    vault = Vault()
    vault.put("a/Cats.md")
    assert vault.lead("cats", "Cats.md", "dogs") == ["a/Cats.md", "a/Cats.md", None]
    vault.put("b/birds.md")
    vault.put("a/Cats.md")  # new content, same names
    assert vault.lead("cats", "Cats.md", "dogs") == ["a/Cats.md", "a/Cats.md", None]
    assert vault.asked == ["cats", "Cats.md", "dogs"]


def test_a_file_that_comes_goes_or_gets_an_alias_changes_where_links_lead():
    vault = Vault()
    vault.put("a/cats.md")
    assert vault.lead("cats", "felines") == ["a/cats.md", None]
    vault.put("b/Cats.md")
    assert vault.lead("cats", "felines") == ["a/cats.md", None]  # the same case comes first
    vault.put("b/cats.md")
    assert vault.lead("cats") == [None]  # two of that name
    vault.remove("a/cats.md")
    vault.put("b/cats.md", "Felines")
    assert vault.lead("cats", "felines") == ["b/cats.md", "b/cats.md"]


def test_more_changes_than_are_remembered_have_all_looked_up_anew():
    vault = Vault()
    vault.put("cats.md")
    assert vault.lead("cats", "n7") == ["cats.md", None]
    for number in range(1_100):
        vault.put(f"n{number}.md")
    assert vault.lead("cats", "n7") == ["cats.md", "n7.md"]


def test_a_stored_index_has_where_links_lead():
    vault = Vault()
    vault.put("a/cats.md")
    vault.put("b/more.md", links=("felines", "links"))
    vault.links.look_up_all()
    vault.reopen()
    assert vault.lead("Cats.md", "cats", "dogs", "links") == ["a/cats.md", "a/cats.md", None, "links.md"]
    assert vault.asked == []
    vault.put("dogs.md")
    vault.remove("a/cats.md")
    assert vault.lead("Cats.md", "cats", "dogs", "links") == [None, None, "dogs.md", "links.md"]
    assert sorted(vault.asked) == ["Cats.md", "cats", "dogs"]


def test_where_links_lead_is_stored_only_as_far_as_it_is_known_for_sure():
    vault = Vault()
    vault.put("a/cats.md")
    vault.links.look_up_all()
    vault.remove("a/cats.md")
    vault.put("b/cats.md")
    vault.reopen()  # stored before anybody asked again
    assert vault.lead("cats", "dogs") == ["b/cats.md", None]


def test_a_merge_forgets_nothing_of_where_links_lead():
    vault = Vault()
    vault.put("a/cats.md")
    vault.put("b/old.md", links=("links",))
    vault.put("b/more.md", links=("n7", "links"))
    vault.links.look_up_all()
    vault.remove("b/old.md")
    vault.lead()
    vault.asked.clear()
    vault.store.corpus.anchors.tidy(always=True)
    assert vault.lead("cats", "n7", "links") == ["a/cats.md", None, "links.md"]
    assert vault.asked == []


def test_a_link_that_went_and_came_back_leads_to_what_has_its_name_now():
    vault = Vault()
    vault.put("a/otters.md")
    vault.put("more.md", links=("otters",))
    assert vault.lead("otters") == ["a/otters.md"]
    vault.put("more.md")
    vault.remove("a/otters.md")
    assert vault.lead("cats") == [None]
    vault.put("more.md", links=("otters",))
    assert vault.lead("otters") == [None]


def test_a_stored_index_whose_links_lead_to_no_file_of_it_is_refused():
    vault = Vault()
    vault.put("a/cats.md")
    vault.links.look_up_all()
    for wrong in (99, -3):
        records, names, arrays = vault.store.corpus.dump()
        arrays["anchors.lead"][0] = wrong
        with pytest.raises(ValueError, match="lead to files"):
            Corpus.load(records, names, arrays)
