"""An optimiser that misbehaves as its settings say, served like any other."""

import os
import signal
import time

PACKAGES = ("numpy",)


class Fake:
    def __init__(self, space, seed, trouble, at):
        self._space, self._trouble, self._at, self._count = space, trouble, at, 0

    def ask(self):
        self._count += 1
        if self._count == self._at:
            if self._trouble == "error":
                raise ValueError("no more points")
            if self._trouble == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if self._trouble == "empty":
                return {}
            if self._trouble == "hang":
                time.sleep(60)
        print("this is no reply")
        return self._space.decode([0.5] * self._space.width)

    def tell(self, point, value):
        self._value = value

    def recommend(self):
        if self._trouble == "interval":
            self.interval = (-1.0, 2.0)
        return self._space.decode([0.25] * self._space.width)


def create(space, seed, budget, trouble="", at=3):
    return Fake(space, seed, trouble, at)
