"""Turns the description of a root, the same for every engine, into what a container is given.

An engine mounts what it is told in the order of depth, each place once; so what a later step of
the description covers is left out here.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile

from redoma.base.paths import is_within
from redoma.jail.forkserver.messages import SandboxDescription
from redoma.jail.overlay.copies import copy_tree
from redoma.model.errors import EngineFailed
from redoma.model.grant import SECRETS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.forkserver.messages import RootStep

# A container has its own of these, made by the engine.
_ENGINES_OWN = ("/proc", "/dev", "/sys")
_SHARED_MEMORY = "/dev/shm"
_TAKEN_APART = ',:"\n\r'
OPENED, DATA = "fd:", "data:"


class RootMounts:
    """What a container's root is made of: mounts by place, links, variables, and a directory."""

    def __init__(self, options: list[str], held: str) -> None:
        """`held` is a directory of ours for copies of what is written and forgotten."""
        described = SandboxDescription(options)
        self.directory = described.directory
        self.binds: dict[str, tuple[str, bool]] = {}
        self.memory: dict[str, str] = {"/run": "rw,nosuid,nodev,size=1m,mode=755"}
        self.links: dict[str, str] = {}
        self.shared_memory = 0
        # Secrets by their place, each with the descriptor that it is read from.
        self.secrets: dict[str, int] = {}
        self._held = held
        for step in described.steps:
            self._take(step)
        if "/var/tmp" not in self.memory:
            self.memory["/var/tmp"] = self.memory.get("/tmp", "rw,nosuid,nodev,mode=1777")

    def _take(self, step: RootStep) -> None:
        if step.place == _SHARED_MEMORY and step.name == "--tmpfs":
            self.shared_memory = step.size or 0
        elif any(is_within(step.place, own) for own in _ENGINES_OWN):
            return  # as the engine makes it: masked, and read-only where it has to be
        elif step.name == "--symlink":
            if not any(is_within(step.place, place) for place in self.memory):
                self.links[step.place] = step.source
        elif step.name in ("--ro-bind", "--bind", "--ro-bind-fd", "--bind-fd"):
            source = step.source
            if step.name.endswith("-fd"):
                source = f"{OPENED}{source}"  # the keeper has it, and says where it is
            self._put(step.place)
            self.binds[step.place] = (source, step.name.startswith("--ro"))
        elif step.name == "--tmpfs":
            self._put(step.place)
            size = f",size={step.size}" if step.size else ",size=4k"
            # Of a size in whole pages: an engine's parser takes no other for granted.
            mode = 0o1777 if step.place == SECRETS else step.mode or 0o755
            self.memory[step.place] = f"rw,nosuid,nodev,exec{size},mode={mode:o}"
        elif step.name == "--ro-bind-data":
            if is_within(step.place, SECRETS):
                self.secrets[step.place] = int(step.source)
            else:
                self.binds[step.place] = (f"{DATA}{step.source}", True)
        elif step.name == "--remount-ro":
            if step.place == SECRETS:
                return  # the first process lays the secrets there, and has no right to mount
            if step.place in self.memory:
                self.memory[step.place] = self.memory[step.place].replace("rw,", "ro,", 1)
        elif step.name == "--tmp-overlay":
            copy = f"{self._held}/copy{len(os.listdir(self._held))}"
            os.mkdir(copy, 0o700)
            copy_tree(step.layers[-1], copy)
            self._put(step.place)
            self.binds[step.place] = (copy, False)
        elif step.name != "--dir":
            raise EngineFailed(
                f"a container engine cannot do what {step.name.strip('-')} asks for",
                hint="redoma doctor",
            )

    def _put(self, place: str) -> None:
        for known in (self.binds, self.memory):
            for other in [each for each in known if is_within(each, place)]:
                del known[other]

    def image(self) -> tuple[str, bytes]:
        """A name and a tar: an empty root with links in it."""
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w") as tar:
            for name, mode in (("tmp", 0o1777), ("var", 0o755), ("var/tmp", 0o1777)):
                place = tarfile.TarInfo(name)
                place.type, place.mode = tarfile.DIRTYPE, mode
                tar.addfile(place)
            for place_of, target in sorted(self.links.items()):
                if place_of == "/var/tmp":
                    continue
                link = tarfile.TarInfo(place_of.lstrip("/"))
                link.type, link.linkname = tarfile.SYMTYPE, target
                tar.addfile(link)
        data = made.getvalue()
        return f"localhost/dev.redoma.root:{hashlib.sha256(data).hexdigest()[:16]}", data

    def bind_words(self, *, podman: bool) -> list[dict[str, object]]:
        """The mounts as the Engine API takes them; Podman makes a line of options of them."""
        for path in (*self.binds, *(source for source, _ in self.binds.values()), self.directory):
            if path.startswith((OPENED, DATA)):
                continue  # no name yet
            if podman and any(sign in path for sign in _TAKEN_APART):
                raise EngineFailed(
                    "Podman takes no name with a comma, colon, quotation mark or line end: {path}",
                    path=repr(path),
                    hint="redoma run --engine bubblewrap, or rename the directory",
                )
            if not path.isascii() and path != path.encode(errors="replace").decode():
                raise EngineFailed(
                    f"{path!r} is not UTF-8, and a container engine takes no other name",
                    hint="redoma run --engine bubblewrap",
                )
        return [
            {
                "Type": "bind",
                "Source": source,
                "Target": place,
                "ReadOnly": read_only,
                "BindOptions": {"Propagation": "rprivate"},
            }
            for place, (source, read_only) in self.binds.items()
        ]
