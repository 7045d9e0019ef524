"""All policies around a model, in the order that makes them true."""

from __future__ import annotations

from dataclasses import dataclass, field

from labeler.data import Model
from labeler.models.abilities import adapted
from labeler.models.brake import Brake, braked
from labeler.models.budget import Budget, budgeted
from labeler.models.limiting import Gate, limited
from labeler.models.retrying import Patience, retried
from labeler.store import Store, remembered


@dataclass(frozen=True)
class Guard:
    """What stands between a run and the server it asks."""

    gate: Gate
    budget: Budget = field(default_factory=Budget)
    patience: Patience = field(default_factory=Patience)
    brake: Brake = field(default_factory=Brake)


def guarded(model: Model, store: Store, guard: Guard, *, patient: bool = True) -> Model:
    """A model that stops when told, keeps to the budget, the server's pace and the memory.

    Every try goes through the gate and counts toward the budget; what is remembered does neither.
    Where not `patient`, it raises `Elsewhere` for what another process is asking.
    """
    asked = limited(budgeted(braked(model, guard.brake), guard.budget), guard.gate)
    tried = retried(asked, guard.patience, guard.brake.sleep)
    kept = remembered(tried, store, patient=patient)
    if not model.is_server:
        return kept
    name = f"abilities of {model.id}"
    return adapted(kept, tried, lambda: store.fact(name), lambda text: store.learn(name, text))
