"""Shared by tools and resources for agents: the caller, the caller's view of an index, and safe errors."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from conspectus.api import Index
from conspectus.server.request_checks import Refused, log_line
from conspectus.server.service import Service, never
from conspectus.server.tokens import Caller
from mcp.server.mcpserver import Context
from pydantic import ValidationError as Invalid

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
CallerOf = Callable[[Context], Caller]


class Calls:
    """Access to the service on behalf of the caller of each request."""

    def __init__(self, service: Service, caller_of: CallerOf) -> None:
        self.service = service
        self.caller_of = caller_of

    def called(self, context: Context, index: str) -> tuple[Caller, str]:
        """Return the caller and the name of the index, which may be omitted if the caller sees only one."""
        caller = self.caller_of(context)
        visible = self.service.visible(caller)
        if not index and len(visible) != 1:
            raise Refused(400, "bad_request", f"name an index: {', '.join(one.name for one in visible)}")
        return caller, index or visible[0].name

    async def look(self, context: Context, index: str, read: Callable[[Index], Result]) -> tuple[Result, str, str]:
        """Return the result of `read` over the caller's view of an index, the index's name and its version."""
        caller, name = self.called(context, index)

        async def work(view: Index) -> Result:
            return read(view)

        found, version = await self.service.run(caller, name, work, gone=never, reads=True)
        return found, name, version.name


def told(
    call: Callable[Arguments, Awaitable[Result]], told_as: type[Exception]
) -> Callable[Arguments, Awaitable[Result]]:
    """Wrap a call so that its errors reveal no more to an agent than a route reveals to its client."""

    @wraps(call)
    async def called(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return await call(*args, **kwargs)
        except Refused as refused:
            raise told_as(refused.message) from None
        except Invalid as wrong:
            raise told_as("; ".join(f"{one['loc'][-1]}: {one['msg']}" for one in wrong.errors())) from None
        except Exception as error:  # noqa: BLE001  (an agent learns nothing of it, the log what kind it was)
            log_line({"event": "call of an agent failed", "call": call.__name__, "cause": type(error).__name__})
            raise told_as("something went wrong in the server") from None

    return called
