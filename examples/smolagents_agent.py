"""A tool of a smolagents agent makes a result up once: the model reads the block, and calls again."""

import json

from smolagents import ChatMessage, MessageRole, Model, ToolCallingAgent, tool
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

from agentguard import Guard, VerificationEngine
from agentguard.integrations.functions import guarded

engine = VerificationEngine()
engine.register_tool_profile("balance", required_fields=["account", "euros"], has_network_io=False)
answers = iter(['{"note": "The account is in good order."}', '{"account": "A-9", "euros": 120}'])


class Scripted(Model):
    """A model that calls until a call succeeds, and then says what it learned."""

    def generate(self, messages, **kwargs):
        last = messages[-1]
        said = last.content[-1]["text"] if last.role == MessageRole.TOOL_RESPONSE else ""
        name, arguments = "balance", {"account": "A-9"}
        if '"euros"' in said:
            euros = json.loads(said[said.index("{") :])["euros"]
            name, arguments = "final_answer", {"answer": f"There are {euros} euros on A-9."}
        else:
            print(said or "The model asks for the balance.")
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = ChatMessageToolCall(id=f"call-{len(messages)}", type="function", function=function)
        return ChatMessage(MessageRole.ASSISTANT, "", tool_calls=[call])


@tool
@guarded(Guard(engine, on_block="replace"))
def balance(account: str) -> str:
    """What is on an account.

    Args:
        account: its number.
    """
    return next(answers)


agent = ToolCallingAgent(tools=[balance], model=Scripted(), verbosity_level=0)
print("Recovered:", agent.run("How much is on A-9?"))
