"""Who answers what one person has asked a second one: one rule for whatever is asked; pure.

The database keeps it beside this, by `ledger_answered_by_another`.
"""

from dataclasses import dataclass

from ledger.rules.actors import is_software
from ledger.rules.errors import NotNow

YOURSELF = "You asked for it yourself: a second person decides."


@dataclass(frozen=True, kw_only=True)
class Asker:
    """Whose request it is, whom it is about, and who is one hand with who asked; by the names of now."""

    maker: str
    """The name under which it was asked."""
    account: str = ""
    """What the account of who asked, or of `who`, is called by now; empty where there is none."""
    who: str = ""
    """In whose name an automation asks; it proves nothing."""
    about: str = ""
    """What the account is called by now that it is about; empty where it is about nobody."""
    hands: frozenset[str] = frozenset()
    """Who has stood in for who asked, or for whom they did, at any moment since."""

    def is_by(self, actor: str) -> bool:
        """Say whether this person has asked, under whatever name."""
        return actor == (self.maker if is_software(self.maker) else self.account or self.maker)

    def why_not(self, actor: str) -> str:
        """Say why this person neither approves nor refuses it; empty where they may, by this rule."""
        if is_software(actor):
            return "Software asks; people answer."
        if self.is_by(actor):
            return YOURSELF
        if (
            actor == self.maker
        ):  # by another account: names come back, and the trail tells people apart by them
            return "Somebody asked for it under your name: a third person decides."
        if actor == self.account or self.who.casefold() == actor.casefold():
            return "It is asked in your name: a second person decides."
        if actor == self.about:
            return "It is about yourself: somebody else decides."
        if actor in self.hands:
            maker = self.account or self.maker
            return f"{maker} has asked, and one of you stands in for the other: a third person decides."
        return ""

    def require_another(self, actor: str) -> None:
        """Raise NotNow where this person does not answer it."""
        if why := self.why_not(actor):
            raise NotNow(why)

    @property
    def keeps_it(self) -> str:
        """Why nobody else takes it back."""
        if is_software(self.maker):
            return "An automation has asked: it is approved or refused, or it lapses."
        return f"Only {self.account or self.maker} takes it back."

    def require_same(self, actor: str) -> None:
        """Raise NotNow where somebody else would take it back."""
        if not self.is_by(actor):
            raise NotNow(self.keeps_it)
