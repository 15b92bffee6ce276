"""What went wrong, where, and what to do: one error for everything a lab refuses or fails at."""


class LabError(Exception):
    def __init__(self, what: str, hint: str = ""):
        super().__init__(what)
        self.hint = hint

    def message(self) -> str:
        return f"{self}\n  {self.hint}" if self.hint else str(self)


class Unreachable(LabError):
    """The API server did not answer, but may later."""
