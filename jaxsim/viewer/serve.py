"""A socket for other programs: the state out; controls, mocap bodies, pushes and pulls in. Protocol: docs/viewer.md.

Messages are JSON objects over WebSocket. A program on the same machine needs no token, unless it is a web page: any
page that a browser shows could otherwise drive the simulation.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxsim.enums import ObjType
from jaxsim.viewer.needs import check_listen, needs
from jaxsim.viewer.session import Session

__all__ = ["VERSION", "Server", "check_address"]

VERSION = 1
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_FIELDS = (
    "time",
    "qpos",
    "qvel",
    "act",
    "ctrl",
    "mocap_pos",
    "mocap_quat",
    "sensordata",
    "xpos",
    "xquat",
    "warning",
)
_FASTEST = 200.0
"""States a second, at most."""

_LARGEST = 1 << 20
"""Of a message, bytes."""


class Refusal(Exception):
    """What a client asked for cannot be done; the message says why."""


class Server:
    """Serves a session to other programs, on a thread of its own.

    Attributes:
        port: The port that it listens at.
    """

    def __init__(
        self, session: Session, *, host: str = "127.0.0.1", port: int = 8765, token: str = ""
    ) -> None:
        """Starts to listen.

        Args:
            session: What is served.
            host: Interface.
            port: Port; 0: a free one.
            token: What a client must know; on other interfaces than the loopback there must be one.

        Raises:
            ValueError: There is no token for an interface that others reach.
            OSError: The port is taken.
            ModuleNotFoundError: The extra `view` is not installed.
        """
        check_address(host, token, port)
        self._library = needs("websockets.asyncio.server", "serving needs")
        self._session, self._token = session, token
        self.port = port
        self._ready, self._failure = threading.Event(), None
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(
            target=self._run, args=(host, port), name="jaxsim server", daemon=True
        )
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Stops listening."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(timeout=10)

    def _run(self, host: str, port: int) -> None:
        try:
            self._loop.run_until_complete(self._serve(host, port))
        except OSError as error:
            self._failure = OSError(f"cannot listen at {host}:{port}: {error.strerror or error}")
        finally:
            self._ready.set()
            self._loop.close()

    async def _serve(self, host: str, port: int) -> None:
        # without a token a browser's page, which names its origin, is turned away
        origins = None if self._token else [None]
        async with self._library.serve(
            self._client, host, port, origins=origins, max_size=_LARGEST
        ) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            self._ready.set()
            await self._end.wait()

    async def _client(self, connection: Any) -> None:
        """Talks to one client: it is told of the model, then what it sends is done, answered and streamed."""
        closed = needs("websockets.exceptions", "serving needs").ConnectionClosed
        stream: asyncio.Task[None] | None = None
        try:
            if self._token and not await self._admitted(connection):
                return
            await connection.send(json.dumps(self._model()))
            async for text in connection:
                try:
                    message = _object(text)
                    if message.get("type") == "subscribe":
                        wanted = _subscription(message, self._session.worlds)
                        if stream is not None:
                            stream.cancel()
                        stream = asyncio.create_task(self._stream(connection, *wanted))
                        reply: dict[str, Any] = {"type": "ok"}
                    else:
                        reply = await asyncio.to_thread(self._obey, message)
                except (Refusal, ValueError, KeyError, IndexError) as error:
                    reason = error.args[0] if error.args else error
                    message, reply = {}, {"type": "error", "message": str(reason)}
                if "id" in message:
                    reply["id"] = message["id"]
                await connection.send(json.dumps(reply))
        except closed:
            pass
        finally:
            if stream is not None:
                stream.cancel()

    async def _admitted(self, connection: Any) -> bool:
        """Whether the first message is a hello with the token."""
        try:
            message = _object(await asyncio.wait_for(connection.recv(), 10))
        except (Refusal, TimeoutError):
            message = {}
        known = message.get("type") == "hello" and isinstance(message.get("token"), str)
        if known and hmac.compare_digest(message["token"].encode(), self._token.encode()):
            return True
        await connection.send(
            json.dumps({"type": "error", "message": "wrong token: send hello with it first"})
        )
        await connection.close(1008, "wrong token")
        return False

    async def _stream(self, connection: Any, fields: tuple[str, ...], period: float, world: int) -> None:
        while True:
            await connection.send(json.dumps(self._state(fields, world)))
            await asyncio.sleep(period)

    def _model(self) -> dict[str, Any]:
        model = self._session.model
        names = {
            word: [model.name(kind, k) or str(k) for k in range(count)]
            for word, kind, count in (
                ("bodies", ObjType.BODY, model.nbody),
                ("joints", ObjType.JOINT, model.njnt),
                ("actuators", ObjType.ACTUATOR, model.nactuator),
                ("sensors", ObjType.SENSOR, model.nsensor),
                ("keyframes", ObjType.KEY, model.nkey),
            )
        }
        sizes = {
            k: int(getattr(model, k)) for k in ("nq", "nv", "nu", "na", "nbody", "nmocap", "nsensordata")
        }
        about = {
            "model": model.modelname,
            "timestep": float(model.opt.timestep),
            "worlds": self._session.worlds,
        }
        return {"type": "model", "version": VERSION, **about, **sizes, **names}

    def _state(self, fields: tuple[str, ...], world: int) -> dict[str, Any]:
        data = self._session.data
        values = {name: np.asarray(getattr(data, name)[world]) for name in fields}
        listed = {name: _finite(value) for name, value in values.items()}
        return {"type": "state", "world": world, "playing": self._session.playing, **listed}

    def _obey(self, message: dict[str, Any]) -> dict[str, Any]:
        """Does what a message says and makes the reply."""
        kind = message.get("type")
        action = _ACTIONS.get(kind) if isinstance(kind, str) else None
        if action is None:
            raise Refusal(f"unknown type {kind!r}; there are {', '.join(['subscribe', *_ACTIONS])}")
        world = _world(message, self._session.worlds)
        if kind == "get":
            return self._state(_fields(message), world or 0)
        action(self._session, message, world)
        return {"type": "ok"}


def check_address(host: str, token: str, port: int) -> None:
    """Refuses to serve others without a token, and where nobody can listen.

    Raises:
        ValueError: There is no token for an interface that others reach, or no such port.
        OSError: This machine has no such interface.
    """
    if host not in _LOOPBACK and not token:
        raise ValueError(f"serving on {host} needs a token: others reach it")
    check_listen(host, port)


def _object(text: str | bytes) -> dict[str, Any]:
    try:
        message = json.loads(text)
    except ValueError as error:
        raise Refusal(f"not JSON: {error}") from error
    if not isinstance(message, dict):
        raise Refusal("a message is a JSON object")
    return message


def _finite(value: np.ndarray) -> Any:
    """Lists for JSON, which has no infinities: null stands for what is not finite."""
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        known = value.astype(object)
        known[~np.isfinite(value)] = None
        return known.tolist()
    return value.tolist()


def _numbers(message: dict[str, Any], key: str, shape: tuple[int, ...]) -> np.ndarray:
    if key not in message:
        raise Refusal(f"{message['type']} needs {key}")
    try:
        value = np.asarray(message[key], float)
    except (TypeError, ValueError) as error:
        raise Refusal(f"{key} is not made of numbers") from error
    if value.shape != shape:
        raise Refusal(f"{key} has shape {list(value.shape)}; expected {list(shape)}")
    if not np.isfinite(value).all():
        raise Refusal(f"{key} is not finite")
    return value


def _world(message: dict[str, Any], worlds: int) -> int | None:
    world = message.get("world")
    if world is None:
        return None
    if isinstance(world, bool) or not isinstance(world, int) or not 0 <= world < worlds:
        raise Refusal(f"world {world!r}: there are {worlds}, from 0")
    return world


def _fields(message: dict[str, Any]) -> tuple[str, ...]:
    fields = message.get("fields", ["time", "qpos", "qvel"])
    unknown = [f for f in fields if f not in _FIELDS] if isinstance(fields, list) else [fields]
    if unknown:
        raise Refusal(f"no field {unknown[0]!r}; there are {', '.join(_FIELDS)}")
    return tuple(fields)


def _subscription(message: dict[str, Any], worlds: int) -> tuple[tuple[str, ...], float, int]:
    """Fields, period (s) and world of a stream."""
    rate = float(_numbers({"rate": 30.0, **message}, "rate", ()))
    if not 0 < rate <= _FASTEST:
        raise Refusal(f"rate {rate:g}: between 0 and {_FASTEST:g} states a second")
    return _fields(message), 1 / rate, _world(message, worlds) or 0


def _body(session: Session, message: dict[str, Any]) -> int:
    if not isinstance(message.get("body"), str | int) or isinstance(message["body"], bool):
        raise Refusal(f"{message['type']} needs body: a name or a number")
    return session.body(message["body"])


def _ctrl(session: Session, message: dict[str, Any], world: int | None) -> None:
    session.change(world, ctrl=_numbers(message, "values", (session.model.nu,)))


def _mocap(session: Session, message: dict[str, Any], world: int | None) -> None:
    row = int(session.model.body_mocapid[_body(session, message)])
    if row < 0:
        raise Refusal(f"body {message['body']!r} is no mocap body")
    with session.lock:
        data = session.data
        pos, quat = (np.array(x[world or 0], float) for x in (data.mocap_pos, data.mocap_quat))
        pos[row] = _numbers(message, "pos", (3,)) if "pos" in message else pos[row]
        quat[row] = _numbers(message, "quat", (4,)) if "quat" in message else quat[row]
        session.change(world, mocap_pos=pos, mocap_quat=quat)


def _push(session: Session, message: dict[str, Any], world: int | None) -> None:
    zero = {"force": [0.0] * 3, "torque": [0.0] * 3}
    wrench = [_numbers({**zero, **message}, key, (3,)) for key in ("force", "torque")]
    session.push(_body(session, message), np.concatenate(wrench), world)


def _pull(session: Session, message: dict[str, Any], world: int | None) -> None:
    session.pull(_body(session, message), _numbers(message, "point", (3,)), world or 0)


def _step(session: Session, message: dict[str, Any], _: int | None) -> None:
    count = message.get("count", 1)
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 10_000:
        raise Refusal(f"count {count!r}: from 1 to 10000")
    session.playing = False
    session.step(count)


def _play(session: Session, message: dict[str, Any], _: int | None) -> None:
    speed = float(_numbers({"speed": session.speed, **message}, "speed", ()))
    if not 0 < speed <= 100:
        raise Refusal(f"speed {speed:g}: between 0 and 100")
    session.speed, session.playing = speed, True


def _pause(session: Session, _message: dict[str, Any], _: int | None) -> None:
    session.playing = False


def _reset(session: Session, message: dict[str, Any], _: int | None) -> None:
    keyframe = message.get("keyframe")
    if isinstance(keyframe, bool) or not isinstance(keyframe, str | int | None):
        raise Refusal(f"keyframe {keyframe!r}: a name or a number")
    session.reset(keyframe)


def _release(session: Session, _message: dict[str, Any], _: int | None) -> None:
    session.release()


def _nothing(_session: Session, _message: dict[str, Any], _: int | None) -> None:
    """`get` changes nothing."""


_ACTIONS: dict[str, Callable[[Session, dict[str, Any], int | None], None]] = {
    "get": _nothing,
    "ctrl": _ctrl,
    "mocap": _mocap,
    "push": _push,
    "pull": _pull,
    "release": _release,
    "play": _play,
    "pause": _pause,
    "step": _step,
    "reset": _reset,
}
