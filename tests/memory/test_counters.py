"""The estimate against the exact count, on real texts where they are there."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.memory.counters import EstimateCounter, default_counter

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
KINDS = ["English", "Chinese", "mixed", "code", "JSON"]


@pytest.fixture(scope="module")
def counted() -> dict[str, list[tuple[int, int]]]:
    """Estimate and exact count of every sample, by kind; of a kind with many, some from all over."""
    if not DATA.is_dir():
        pytest.skip("the data sets are not beside the checkout (../shared/data)")
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        bench: Any = importlib.import_module("tokens")
    finally:
        sys.path.pop(0)
    texts: dict[str, list[str]] = {}
    for kind, text in bench.samples(DATA):
        if len(text) >= bench.SHORTEST:
            texts.setdefault(kind, []).append(text[: bench.LONGEST])
    estimate, exact = EstimateCounter().count_text, default_counter().count_text
    some = {kind: found[:: max(1, len(found) // 40)] for kind, found in texts.items()}
    return {kind: [(estimate(text), exact(text)) for text in found] for kind, found in some.items()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_estimate_of_a_kind_is_within_15_percent(counted: dict[str, list[tuple[int, int]]], kind: str) -> None:
    pairs = counted[kind]
    assert len(pairs) >= 5
    assert sum(guess for guess, _ in pairs) == pytest.approx(sum(count for _, count in pairs), rel=0.1)
    near = [abs(guess / count - 1) <= 0.15 for guess, count in pairs]
    assert sum(near) / len(near) >= 0.97


SOURCE = '''
class LRUCache:
    """Keeps the newest ``size`` values."""

    def __init__(self, size: int = 128) -> None:
        self._values: OrderedDict[str, Any] = OrderedDict()
        self._size = size

    def get(self, key: str, default: Any = None) -> Any:
        if key not in self._values:
            return default
        self._values.move_to_end(key)
        return self._values[key]
'''


@pytest.mark.parametrize(
    "text",
    [
        SOURCE * 3,
        "const total = items.filter((item) => item.done).map((item) => item.price * 1.19);\n" * 20,
        '{"id": 4711, "name": "kiln-7", "tags": ["a", "b"], "ok": true, "at": "2026-03-05T10:00:00Z"}\n' * 20,
        "2026-03-05 10:00:01,123 WARN  [pool-7] c.e.Kiln - retry 3 of 5 for /var/lib/kiln/77.dat (E_TIMEOUT)\n" * 20,
        "| 名称 | 数量 | 备注 |\n|---|---|---|\n| 钥匙 | 3 | 在蓝色锅炉后面 |\n" * 20,
        "- [ ] 跟进 [[2026-03-05]] 的 issue #1388，回复 @anna\n- [x] 更新 README.md\n" * 20,
        "The committee's recommendations, published yesterday, weren't unanimous; they'll be adopted.\n" * 20,
        "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n" * 20,
    ],
)
def test_texts_made_by_hand_are_near_too(text: str) -> None:
    assert EstimateCounter().count_text(text) == pytest.approx(default_counter().count_text(text), rel=0.2)
