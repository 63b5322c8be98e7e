"""A tool of a LlamaIndex agent makes a result up once: the model reads the block, and calls again."""

import asyncio
import json

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage, ChatResponse, LLMMetadata, MockLLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.tools import FunctionTool, ToolSelection

from agentguard import Guard, VerificationEngine
from agentguard.integrations.functions import guarded

engine = VerificationEngine()
engine.register_tool_profile("opening", required_fields=["shop", "opens"], has_network_io=False)
answers = iter(['{"note": "Shops usually open at nine."}', '{"shop": "Dock 3", "opens": "07:30"}'])


class Scripted(MockLLM, FunctionCallingLLM):
    """A model that calls until a call succeeds, and then says what it learned."""

    @property
    def metadata(self):
        """It calls tools."""
        return LLMMetadata(is_function_calling_model=True)

    def _prepare_chat_with_tools(self, tools, user_msg=None, chat_history=None, **kwargs):
        return {"messages": chat_history}

    async def achat(self, messages, **kwargs):
        """The next line."""
        said = messages[-1].content if messages[-1].role == "tool" else ""
        if "opens" in said and "blocked" not in said:
            return ChatResponse(message=ChatMessage("It opens at " + json.loads(said)["opens"] + ".", role="assistant"))
        print(said or "The model asks for the hours.")
        return ChatResponse(message=ChatMessage("", role="assistant"), raw=f"call-{len(messages)}")

    def get_tool_calls_from_response(self, response, error_on_no_tool_call=True, **kwargs):
        """The call that a line makes, if it makes one."""
        if not response.raw:
            return []
        return [ToolSelection(tool_id=response.raw, tool_name="opening", tool_kwargs={"shop": "Dock 3"})]


@guarded(Guard(engine, on_block="replace"))
def opening(shop: str) -> str:
    """When a shop opens."""
    return next(answers)


async def main() -> None:
    """One question to the agent."""
    agent = FunctionAgent(tools=[FunctionTool.from_defaults(opening)], llm=Scripted(), streaming=False)
    print("Recovered:", await agent.run("When does Dock 3 open?"))


asyncio.run(main())
