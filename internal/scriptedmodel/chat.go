package scriptedmodel

import (
	"encoding/json"
	"fmt"
)

func readChat(body []byte) (conversation, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role      string            `json:"role"`
			Content   json.RawMessage   `json:"content"`
			ToolCalls []json.RawMessage `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name       string `json:"name"`
				Parameters schema `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return conversation{}, err
	}
	c := conversation{model: in.Model, stream: in.Stream}
	for _, t := range in.Tools {
		c.tools = append(c.tools, tool{t.Function.Name, t.Function.Parameters})
	}
	for _, m := range in.Messages {
		switch m.Role {
		case "assistant":
			if text(m.Content) != "" {
				c.turns++
			}
			c.turns += len(m.ToolCalls)
		case "tool":
			c.result = text(m.Content)
		}
	}
	return c, nil
}

func writeChat(w *replier, c conversation, a answer) {
	message, finish := object{"role": "assistant", "content": a.text}, "stop"
	if a.call != nil {
		finish = "tool_calls"
		message = object{"role": "assistant", "content": nil, "tool_calls": []any{object{
			"index": 0, "id": a.call.id, "type": "function",
			"function": object{"name": a.call.name, "arguments": a.call.args},
		}}}
	}
	envelope := func(kind string, choices ...any) object {
		if choices == nil {
			choices = []any{}
		}
		return object{"id": fmt.Sprintf("chat_%d", c.turns+1), "object": kind, "created": 1, "model": c.model, "choices": choices}
	}
	usage := object{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
	if !c.stream {
		whole := envelope("chat.completion", object{"index": 0, "message": message, "finish_reason": finish})
		whole["usage"] = usage
		w.json(whole)
		return
	}
	const chunk = "chat.completion.chunk"
	w.event("", envelope(chunk, object{"index": 0, "delta": message, "finish_reason": nil}))
	w.event("", envelope(chunk, object{"index": 0, "delta": object{}, "finish_reason": finish}))
	last := envelope(chunk)
	last["usage"] = usage
	w.event("", last)
	w.raw("", "[DONE]")
}
