"""Carries connections from outside a lab to its API server. The listening socket was opened outside
and is inherited; a socket belongs to the network in which it was made, so no interface or route of the
machine leads into the lab.

python3 -m lab.cluster.relay DESCRIPTOR HOST PORT
"""

import asyncio
import socket
import sys


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.close()


async def serve(listener: socket.socket, host: str, port: int) -> None:
    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner_reader, inner_writer = await asyncio.open_connection(host, port)
        except OSError:
            writer.close()  # the API server is away: the caller sees its connection refused
            return
        try:
            await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))
        finally:
            writer.close()
            inner_writer.close()

    server = await asyncio.start_server(carry, sock=listener)
    await server.serve_forever()


if __name__ == "__main__":
    descriptor, to, at = sys.argv[1:]
    asyncio.run(serve(socket.socket(fileno=int(descriptor)), to, int(at)))
