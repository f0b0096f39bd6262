"""Where links lead is remembered between questions, and forgotten when a file that is spelled alike comes or goes."""

from agentscope_reme.index.corpus import Corpus
from agentscope_reme.index.entries import FileEntry
from agentscope_reme.index.graph import LinkGraph
from agentscope_reme.index.link_words import Anchor
from agentscope_reme.index.soft_links import SoftLinks
from agentscope_reme.index.store import Store


class Vault:
    """A store whose files have names and no text; ``asked`` counts what is looked up in the graph."""

    def __init__(self) -> None:
        self.store = Store(Corpus(), LinkGraph())
        self.links = SoftLinks(self.store)
        self.asked: list[str] = []
        self.put("links.md", links=("cats", "Cats.md", "dogs", "felines", "n7"))
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
        self.store.graph.set_file(path, (), (entry.title, *aliases))

    def remove(self, path: str) -> None:
        self.store.corpus.remove(path)
        self.store.graph.remove_file(path)

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
