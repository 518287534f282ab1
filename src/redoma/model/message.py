"""A message to a person: the English that it is, and what another language needs to say it.

Whoever has something to say makes a `Message` of a template and named values. It *is* the English
text: stored, compared, hashed and given to programs like any other. Beside that it carries its
`id`, which is the template, and its `values`; `redoma.i18n` finds the translation by the one and
fills it with the other. A text without values is its own id, so a plain literal is a message.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Message(str):
    """English text that knows its template and what stands in each hole of it.

    >>> told = Message("cannot read {path}: {why}", path="/etc/shadow", why="Permission denied")
    >>> told
    'cannot read /etc/shadow: Permission denied'
    >>> told.id
    'cannot read {path}: {why}'

    A value that is a message is translated with the one around it, and so is an error of ours; any
    other text is copied as it is: `Message(text)` marks one that is a message of ours.
    """

    __slots__ = ("id", "many", "values")

    id: str
    many: str  # the template for every count but one; empty where nothing is counted
    values: dict[str, object]

    def __new__(cls, template: str, /, **values: object) -> Message:
        if values:
            for name, value in values.items():
                if isinstance(value, BaseException):
                    values[name] = str(value)  # the error itself would keep its frames alive
            made = str.__new__(cls, template.format(**values))
        elif type(template) is cls:
            return template
        else:
            made = str.__new__(cls, template)
        made.id, made.many, made.values = template, "", values
        return made

    def __str__(self) -> str:
        return self  # so that `str(error)` is the message that the error was made with

    @classmethod
    def counted(cls, one: str, many: str, /, count: int, **values: object) -> Message:
        """`one` of something or `many`; both may have the hole `{count}`.

        >>> Message.counted("{count} change", "{count} changes", 3)
        '3 changes'
        """
        values["count"] = count
        made = str.__new__(cls, (one if count == 1 else many).format(**values))
        made.id, made.many, made.values = one, many, values
        return made

    @classmethod
    def joined(cls, joint: str, parts: Iterable[str]) -> str:
        """Messages one after the other; each stays one."""
        values = {f"part{at}": cls(part) for at, part in enumerate(parts)}
        if len(values) < 2:
            return next(iter(values.values()), "")
        return cls(joint.join(f"{{{name}}}" for name in values), **values)

    def changed(self, change: Callable[[str], str]) -> str:
        """What `change` makes of the text, as a message where its values can be changed likewise.

        Attack: a secret that is known only by the words around it is found in the whole and not in
        its value. So a message whose English is not the changed whole is given up for that.
        """
        whole = change(str.__str__(self))
        if whole == self:
            return self
        values = {
            name: value.changed(change)
            if isinstance(value, Message)
            else change(value)
            if isinstance(value, str)
            else value
            for name, value in self.values.items()
        }
        made = Message.__new__(Message, self.id, **values) if not self.many else None
        return made if made is not None and made == whole else whole
