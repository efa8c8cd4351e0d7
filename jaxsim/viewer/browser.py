"""The viewer in the browser (viser): a server that simulates, draws and listens until it is stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from jaxsim.model import Model
from jaxsim.viewer.needs import check_listen, needs
from jaxsim.viewer.panel import Panel
from jaxsim.viewer.session import FRAME, Session
from jaxsim.viewer.stage import Stage

__all__ = ["Viewer", "view"]

_PLOT = 0.1
"""Time between points of the sensor plot, s."""


class Viewer:
    """A running viewer.

    Attributes:
        session: The simulation: `playing`, `speed`, `reset`, `change`, `pull`.
        stage: What is drawn.
        url: Where the browser finds it.
        frame_seconds: What drawing a frame took of late, s, without physics.
    """

    def __init__(self, session: Session, *, host: str = "127.0.0.1", port: int = 8080) -> None:
        """Starts the server and its loop.

        Args:
            session: What to look at.
            host: Interface to listen at; whoever reaches it controls the simulation.
            port: Port; the next free one if it is taken.
        """
        viser = needs("viser", "the viewer needs")
        needs("trimesh", "the viewer needs")
        check_listen(host, port)  # viser waits for ever for a server that does not come
        self.session = session
        self._server = viser.ViserServer(host=host, port=port, verbose=False)
        self._server.scene.set_up_direction("+z")
        self._server.gui.configure_theme(control_width="medium", show_share_button=False)
        self.stage = Stage(self._server.scene, session.model, session.worlds)
        camera = self._server.initial_camera
        camera.position, camera.look_at, camera.fov = self.stage.opening_view()
        self._panel = Panel(self._server, session, self.stage)
        self.url = f"http://{host}:{self._server.get_port()}"
        self.frame_seconds = 0.0
        self.failure: BaseException | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="jaxsim viewer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the viewer."""
        self._stopped.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=30)
        self._server.stop()

    def wait(self) -> None:
        """Returns when the viewer has ended, or was interrupted.

        Raises:
            Exception: whatever ended it that should not have.
        """
        try:
            self._stopped.wait()
        except KeyboardInterrupt:
            self.stop()
        if self.failure is not None:
            raise self.failure

    def _repr_html_(self) -> str:
        """The viewer in a notebook."""
        return f'<iframe src="{self.url}" width="100%" height="520" frameborder="0"></iframe>'

    def _loop(self) -> None:
        before = plotted = due = time.perf_counter()
        try:
            while not self._stopped.is_set():
                now = time.perf_counter()
                self.session.tick(now - before)
                before = now
                start = time.perf_counter()
                with self._server.atomic():
                    found = self.stage.show(self.session.data)
                    self._panel.update(found[0])
                    if now - plotted > _PLOT:
                        self._panel.plot()
                        plotted = now
                self.frame_seconds = 0.9 * self.frame_seconds + 0.1 * (time.perf_counter() - start)
                # what one frame is late, the next waits less, by a frame at most
                due = max(due + FRAME, time.perf_counter() - FRAME)
                self._stopped.wait(max(due - time.perf_counter(), 0.001))
        except Exception as error:  # a thread's errors are lost unless somebody keeps them
            self.failure = error
            self._stopped.set()


def view(
    model: Model,
    *,
    worlds: int = 1,
    keyframe: str | int | None = None,
    trajectory: Mapping[str, Any] | None = None,
    play: bool = False,
    host: str = "127.0.0.1",
    port: int = 8080,
) -> Viewer:
    """Opens a viewer that runs beside the program; in a notebook the last line of a cell shows it.

    Args:
        model: The model.
        worlds: How many worlds, side by side.
        keyframe: Where to start; None: qpos0.
        trajectory: `qpos`, `(T, nq)` or `(worlds, T, nq)`, and `time` `(T,)`: to be played instead of simulated.
        play: Whether time goes on at once.
        host: Interface to listen at; whoever reaches it controls the simulation.
        port: Port; the next free one if it is taken.

    Raises:
        ModuleNotFoundError: The extra `view` is not installed.
        ValueError: The trajectory does not fit the model, or there is no such port.
        OSError: This machine has no such interface.
        KeyError: There is no keyframe of that name.
        IndexError: There is no keyframe of that number.
    """
    needs("viser", "the viewer needs")
    check_listen(host, port)  # before anything is compiled
    session = Session(model, worlds, keyframe=keyframe, trajectory=trajectory)
    session.warm_up()
    session.playing = play
    return Viewer(session, host=host, port=port)
