"""Documents for tests: a vault with some in ``resource/``, and PDF and Word files made by hand."""

import io
import os
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentscope_reme.pipelines.agent import TOOL, Planner
from agentscope_reme.vault import Vault
from tests.support.scripted_model import ScriptedModel, call

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
REPORT = """# Quarterly report

Revenue rose to 4,200 EUR in March 2026. Anna Huber decided to close the Basel office.

## Risks

The lease ends on 2027-05-03. Nobody has found another tenant.
"""
PLAN = "项目计划\n\n我们决定在十二月上线新系统，负责人是王小明。预算为 30000 元。\n"


def vault_at(root: Path, **files: str | bytes) -> Vault:
    """A vault whose clock stands still. ``files`` are documents by name; ``__`` stands for a slash, ``_`` for a dot."""
    vault = Vault(root, timezone="UTC", clock=lambda: NOW)
    for name, content in files.items():
        folder, _, rest = name.rpartition("__")
        put(vault, f"resource/{folder.replace('__', '/')}/{rest.replace('_', '.')}".replace("//", "/"), content)
    return vault


def put(vault: Vault, path: str, content: str | bytes) -> str:
    """Put a document there as another program would."""
    file = vault.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    # A change within one tick of the clock is one all the same.
    stamp = file.stat().st_mtime_ns + 1_000_000
    os.utime(file, ns=(stamp, stamp))
    return path


def cards(vault: Vault) -> dict[str, str]:
    """The cards of all days, by path."""
    return {
        path.relative_to(vault.root).as_posix(): path.read_text("utf-8")
        for path in sorted((vault.root / "daily").glob("*/*.md"))
    }


def points(*told: tuple[str, list[int]], name: str = "", kind: str = "fact") -> Any:
    """A model's reply: statements with the passages they rest on."""
    listed = [{"text": text, "kind": kind, "sources": sources} for text, sources in told]
    return call(TOOL, name=name, description="", points=listed)


def planner_of(*answers: Any, default: Any = None) -> tuple[Planner, ScriptedModel]:
    model = ScriptedModel(list(answers), default=default)
    return Planner(model, timeout=20.0), model


def docx_of(*paragraphs: tuple[str, str], table: list[list[str]] | None = None) -> bytes:
    """A Word document; each paragraph with its style."""
    from docx import Document

    document = Document()
    for style, text in paragraphs:
        document.add_paragraph(text, style=style)
    if table:
        made = document.add_table(rows=0, cols=len(table[0]))
        for row in table:
            for cell, text in zip(made.add_row().cells, row, strict=True):
                cell.text = text
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()


def pdf_of(*pages: str, title: str = "") -> bytes:
    """A PDF with plain text on each page, in lines."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    for text in pages:
        lines = text.replace("(", "").replace(")", "").split("\n")
        stream = f"BT /F1 12 Tf 72 700 Td {' 0 -14 Td '.join(f'({line}) Tj' for line in lines)} ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R"
            f" /Resources << /Font << /F1 {font} >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    objects.append(f"<< /Title ({title}) >>")
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
    trailer = f"<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>"
    return out + f"trailer\n{trailer}\nstartxref\n{start}\n%%EOF\n".encode()


def zip_bomb() -> bytes:
    """A file that says it is a Word document and unpacks to half a gigabyte."""
    data = io.BytesIO()
    packed = zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED)
    with packed, packed.open("word/document.xml", "w", force_zip64=True) as entry:
        for _ in range(512):
            entry.write(b" " * (1 << 20))
    return data.getvalue()
