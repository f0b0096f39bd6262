"""What the hook of reme-ai 0.3 costs at a step, measured in an environment of its own.

    PYTHON bench/earlier_hook.py 100 1000 6000

PYTHON is that of an environment with ``reme-ai==0.3.1.10`` (it needs ``mcp<2``, ``fastmcp<3``, ``chromadb``, ``pandas``
and more, and keeps to another AgentScope than this package; so it is no dependency of anything here). Prints a JSON
list for each size: messages, p50 and p95 in milliseconds. ``bench/working_memory.py --earlier PYTHON`` runs it. The
window is so large that nothing is compacted, and no model is asked.
"""

import asyncio
import json
import logging
import os
import sys
import tempfile
import time

from agentscope.message import Msg
from long_talk import conversation
from reme.reme_light import ReMeLight

WINDOW = 4_000_000


async def timed(reme: ReMeLight, size: int, steps: int) -> list[float]:
    """Add a message and time the step after it, many times."""
    messages = conversation(size)
    times = []
    for number in range(steps + 1):
        messages.append(Msg("user", f"And number {number}? 还有第 {number} 个呢？", "user"))
        started = time.perf_counter()
        await reme.pre_reasoning_hook(messages, "You help with code.", "", max_input_length=WINDOW)
        times.append((time.perf_counter() - started) * 1000)
    times = sorted(times[1:])
    return [size, times[len(times) // 2], times[int(len(times) * 0.95)]]


async def main() -> None:
    """Run and print."""
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # it writes logs to where it is
        reme = ReMeLight(
            folder,
            llm_api_key="none",
            llm_base_url="http://127.0.0.1:9/v1",
            default_file_store_config={"backend": "local", "fts_enabled": True, "vector_enabled": False},
        )
        await reme.start()
        for size in map(int, sys.argv[1:]):
            print(json.dumps(await timed(reme, size, max(5, min(50, 20_000 // size)))), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
