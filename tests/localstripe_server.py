"""localstripe as a process: on a free port of this machine alone, without the file that it keeps in /tmp."""

import asyncio

from aiohttp import web
from localstripe.resources import Store
from localstripe.server import app


async def serve() -> None:
    """Serve until it is told to stop; the first line printed is the address."""
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    Store.dump_to_disk = lambda self: None
    asyncio.run(serve())
