"""Pictures into files: PNG and JPEG, animated GIF, and MP4."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
from PIL import Image

from jaxsim.viewer.needs import needs

__all__ = ["MOVING", "STILL", "check_file", "write"]

STILL = (".png", ".jpg", ".jpeg")
MOVING = (".gif", ".mp4")


def check_file(file: Path) -> None:
    """Refuses a file that pictures cannot be written to.

    Raises:
        ValueError: The suffix is unknown.
        FileNotFoundError: There is no such folder.
        IsADirectoryError: The file is a folder.
        ModuleNotFoundError: A video is asked for, and the extra `view` is not installed.
    """
    if file.suffix.lower() not in STILL + MOVING:
        raise ValueError(f"cannot write {file.name!r}: the suffix is one of {', '.join(STILL + MOVING)}")
    if not file.absolute().parent.is_dir():
        raise FileNotFoundError(f"no folder {str(file.absolute().parent)!r} to write {file.name!r} into")
    if file.is_dir():
        raise IsADirectoryError(f"{str(file)!r} is a folder; give the name of a file")
    if file.suffix.lower() == ".mp4":
        needs("imageio_ffmpeg", "MP4 needs")


def write(file: str | Path, pictures: np.ndarray, *, fps: float = 30.0) -> None:
    """Writes pictures; the suffix of the file says how. A still image is the last of them.

    Args:
        file: `.png`, `.jpg`, `.gif` or `.mp4`.
        pictures: `(T, height, width, 3)`, or one, `(height, width, 3)`, uint8.
        fps: Pictures a second; a GIF takes the nearest whole number of hundredths of a second.

    Raises:
        ValueError: The suffix is unknown, or these are no pictures.
        FileNotFoundError: There is no such folder.
        ModuleNotFoundError: A video is asked for, and the extra `view` is not installed.
    """
    file = Path(file)
    check_file(file)
    pictures = np.asarray(pictures)
    pictures = pictures[None] if pictures.ndim == 3 else pictures
    if pictures.ndim != 4 or pictures.shape[-1] != 3 or pictures.dtype != np.uint8 or not len(pictures):
        raise ValueError(
            f"pictures have shape {pictures.shape}, {pictures.dtype}; expected (T, height, width, 3), uint8"
        )
    if file.suffix.lower() in STILL:
        Image.fromarray(pictures[-1]).save(file)
    elif file.suffix.lower() == ".gif":
        _gif(file, pictures, fps)
    else:
        _mp4(file, pictures, fps)


def _gif(file: Path, pictures: np.ndarray, fps: float) -> None:
    """All frames share the colours of a few of them, so that what does not move does not flicker."""
    some = pictures[np.linspace(0, len(pictures) - 1, min(len(pictures), 4)).astype(int)]
    palette = Image.fromarray(np.concatenate(list(some))).quantize(256)
    frames = [Image.fromarray(p).quantize(palette=palette, dither=Image.Dither.NONE) for p in pictures]
    duration = 10 * max(round(100 / fps), 2)
    frames[0].save(file, save_all=True, append_images=frames[1:], duration=duration, loop=0)


def _mp4(file: Path, pictures: np.ndarray, fps: float) -> None:
    """H.264, whose sides are even: an odd row or column is doubled."""
    ffmpeg = needs("imageio_ffmpeg", "MP4 needs").get_ffmpeg_exe()
    height, width = pictures.shape[1:3]
    even = np.pad(pictures, ((0, 0), (0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    raw = [
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-s",
        f"{even.shape[2]}x{even.shape[1]}",
        "-r",
        f"{fps:.6g}",
    ]
    coded = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20", str(file.absolute())]
    command = [ffmpeg, "-y", "-v", "error", *raw, "-i", "-", *coded]
    # without closing files Python starts the program by posix_spawn: a fork beside JAX's threads may hang
    done = subprocess.run(command, input=even.tobytes(), capture_output=True, close_fds=False)
    if done.returncode:
        raise OSError(f"cannot write {file.name!r}: {done.stderr.decode(errors='replace').strip()}")
