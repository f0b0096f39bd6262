"""Text that is not UTF-8: told by its characters, and left open where they do not tell."""

from pathlib import Path

import pytest

from agentscope_reme.errors import NoteError
from agentscope_reme.index.reading import decode
from agentscope_reme.vault import Vault
from agentscope_reme.vault.encoding import kind_of

GERMAN = "Die Straße in München wurde für größere Fahrzeuge gesperrt. Schöne Grüße aus Köln, Äpfel und Öl.\n"
FRENCH = "Réunion du conseil d'école : la fête aura lieu à l'été. L’œuvre coûte 5 € — “très” cher…\n"
TRADITIONAL = "會議定在週三下午，地點是臺北辦公室，請王小明準備投影機與資料。\n"
SIMPLIFIED = "会议定在周三下午，地点是台北办公室，请王小明准备投影机与资料。\n"
JAPANESE = "会議は水曜日の午後に東京オフィスで行います。田中さんは準備してください。\n"
KOREAN = "회의는 수요일 오후에 서울 사무실에서 열립니다. 김철수 씨는 프로젝터를 준비하세요.\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "cp1252"),
        (FRENCH, "cp1252"),
        ("Informações são necessárias à reunião de João; coração.\n", "cp1252"),
        ("El niño comió piñas. ¿Dónde está el señor Muñoz?\n", "cp1252"),
        ("Päätös: työ jatkuu yöllä Jyväskylässä.\n", "cp1252"),
        ("Das Café schließt.\n", "cp1252"),
        ("naïve", "cp1252"),
        (TRADITIONAL, "cp950"),
        ("你好嗎？我今天要去學校。", "cp950"),
        (SIMPLIFIED, "gb18030"),
        (TRADITIONAL, "gb18030"),
        ("你好", "gb18030"),
        ("渡轮", "gb18030"),
        ("Bug王", "gb18030"),
        ("Project Kestrel: deploy notes. 王小明 will check it.", "gb18030"),
        ("BMW保养记录：下次五月。", "gb18030"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        (KOREAN, "cp949"),
    ],
)
def test_an_older_encoding_is_told_by_how_common_its_characters_are(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    assert kind_of(data).encoding == encoding
    shown, _, told, fault = decode(data)
    assert (shown, told) == (text, encoding)
    assert encoding in fault


@pytest.mark.parametrize("cut", [1, 2])
def test_a_sample_may_end_inside_a_character(cut: int) -> None:
    for text, encoding in ((TRADITIONAL, "cp950"), (SIMPLIFIED, "gb18030"), (JAPANESE, "cp932"), (KOREAN, "cp949")):
        data = (text * 3).rstrip("。.\n").encode(encoding)
        assert kind_of(data[: len(data) - cut], whole=False).encoding == encoding


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Příliš žluťoučký kůň úpěl ďábelské ódy\n", "cp1250"),
        ("Zażółć gęślą jaźń, proszę\n", "cp1250"),
        ("Türkçe güzel ağaç ışık şeker\n", "cp1254"),
        ("Совещание состоится в среду во второй половине дня\n", "cp1251"),
        ("Совещание состоится в среду во второй половине дня\n", "koi8-r"),
        ("Η συνάντηση είναι την Τετάρτη το απόγευμα\n", "cp1253"),
        ("הפגישה תתקיים ביום רביעי אחר הצהריים\n", "cp1255"),
        ("Réunion à l'été : la fête\n", "cp850"),
        ("Réunion à l'été : la fête\n", "mac_roman"),
    ],
)
def test_what_cannot_be_told_is_not_taken_for_something_else(text: str, encoding: str) -> None:
    shown, _, told, fault = decode(text.encode(encoding))
    assert told == "utf-8"
    assert "not valid UTF-8" in fault
    # Not one wrong character: what is not known is marked as such.
    assert set(shown) <= set(text) | {"\ufffd"}


@pytest.mark.parametrize("at", [3, 4, 5, 40, -1, -2])
def test_utf_8_with_a_damaged_character_stays_utf_8(at: int) -> None:
    data = bytearray((SIMPLIFIED.strip() * 3).encode())
    del data[at]
    shown, exact, told, fault = decode(bytes(data))
    assert told == "utf-8"
    assert "damaged" in fault
    assert "点是台北办公室" in shown
    assert exact.encode("utf-8", "surrogateescape") == bytes(data)


def test_a_bitmap_is_binary_and_a_text_that_begins_alike_is_none() -> None:
    bitmap = b"BM" + (70).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little") + b"\x28\0\0\0" + bytes(52)
    assert kind_of(bitmap).media_type == "image/bmp"
    assert kind_of("BM und Größe".encode("cp1252")).encoding == "cp1252"


def test_a_note_with_two_bad_bytes_can_still_be_edited_around_them(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    (vault.root / "a.md").write_bytes("# Café\n\nopen at nine\n\nà bientôt\n".encode("cp1252"))
    page = vault.read_sync("a.md")
    assert page.text == "# Café\n\nopen at nine\n\nà bientôt\n"
    vault.edit_sync("a.md", "open at nine", "open at ten")
    assert (vault.root / "a.md").read_bytes() == "# Café\n\nopen at ten\n\nà bientôt\n".encode("cp1252")


@pytest.mark.parametrize("text", ["café tea\n", "“smart” quotes – here\n", "naïve"])
def test_a_note_in_an_older_encoding_never_gets_a_second_one(tmp_path: Path, text: str) -> None:
    vault, data = Vault(tmp_path), text.encode("cp1252")
    (vault.root / "a.md").write_bytes(data)
    changes = [
        lambda: vault.append_sync("a.md", "é 茶"),
        lambda: vault.edit_sync("a.md", text.split()[-1][-2:], "ünï"),
        lambda: vault.frontmatter_update_sync("a.md", {"name": "茶"}),
    ]
    for change in changes:
        with pytest.raises(NoteError, match=r"not UTF-8.*nothing was changed"):
            change()
        assert (vault.root / "a.md").read_bytes() == data
    vault.append_sync("a.md", "plain")
    added = b"plain\n" if data.endswith(b"\n") else b"\nplain"
    assert (vault.root / "a.md").read_bytes() == data + added
    vault.write_sync("a.md", "all anew: 茶\n", overwrite=True)
    assert (vault.root / "a.md").read_text("utf-8") == "all anew: 茶\n"


def test_a_damaged_utf8_note_can_get_any_character(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    (vault.root / "a.md").write_bytes("café".encode() + b" \xff\n")
    vault.append_sync("a.md", "茶")
    assert (vault.root / "a.md").read_bytes() == "café".encode() + b" \xff\n" + "茶\n".encode()


def test_a_note_in_an_older_encoding_whose_link_would_need_another_is_named_by_a_move(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.write_sync("tea.md", "leaves\n")
    linking = "café [[tea.md]]\n".encode("cp1252")
    (vault.root / "a.md").write_bytes(linking)
    moved = vault.move_sync("tea.md", "茶.md")
    assert [path for path, _ in moved.failed] == ["a.md"]
    assert (vault.root / "a.md").read_bytes() == linking
    assert vault.move_sync("茶.md", "herbs.md").failed == ()
    moving = "à [[b.md]]\n".encode("cp1252")
    (vault.root / "b.md").write_bytes(moving)
    assert [path for path, _ in vault.move_sync("b.md", "ö.md").failed] == ["ö.md"]
    assert (vault.root / "ö.md").read_bytes() == moving
