"""Shares placed online, one after the other, on GPUs of one size: the result of best fit, for
comparison."""


def best_fit(arrivals: list[int], gpus: int) -> int:
    """How many percent are placed when each share goes to the GPU with the least left afterwards,
    and one that fits nowhere is refused."""
    free = [100] * gpus
    placed = 0
    for percent in arrivals:
        fits = [left for left in free if left >= percent]
        if not fits:
            continue
        tightest = free.index(min(fits))
        free[tightest] -= percent
        placed += percent
    return placed


def first_fit(arrivals: list[int], gpus: int) -> int:
    """The same when each share goes to the first GPU with enough room."""
    free = [100] * gpus
    placed = 0
    for percent in arrivals:
        for index, left in enumerate(free):
            if left >= percent:
                free[index] -= percent
                placed += percent
                break
    return placed
