"""A tool of a Strands agent makes a result up once: the model reads the block, and calls again."""

from strands import Agent, tool
from strands.models import Model

from agentguard import VerificationEngine
from agentguard.integrations.strands import GuardHooks

engine = VerificationEngine()
engine.register_tool_profile("stock", required_fields=["sku", "count"], has_network_io=False)
answers = iter([{"note": "There should be about a dozen."}, {"sku": "K-7", "count": 3}])


class Scripted(Model):
    """A model that calls until a call succeeds, and then says what it learned."""

    async def stream(self, messages, *args, **kwargs):
        results = [part["toolResult"] for part in messages[-1]["content"] if "toolResult" in part]
        succeeded = results and results[0]["status"] == "success"
        start, delta = {}, {"text": "The shelf is checked."}
        if succeeded:
            delta = {"text": f"The shelf holds {results[0]['content'][0]['text']}."}
        else:
            print(results[0]["content"][0]["text"] if results else "The model asks for the stock.")
            start = {"toolUse": {"name": "stock", "toolUseId": f"call-{len(messages)}"}}
            delta = {"toolUse": {"input": '{"sku": "K-7"}'}}
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": start}}
        yield {"contentBlockDelta": {"delta": delta}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if succeeded else "tool_use"}}

    def get_config(self):
        """None is needed."""
        return {}

    def update_config(self, **config):
        """Nothing to update."""

    def structured_output(self, *args, **kwargs):
        """Not asked for."""
        raise NotImplementedError


@tool
def stock(sku: str) -> dict:
    """How many are in stock."""
    return next(answers)


agent = Agent(model=Scripted(), tools=[stock], hooks=[GuardHooks(engine)], callback_handler=None)
print("Recovered:", agent("How many K-7 are there?"))
