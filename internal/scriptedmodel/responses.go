package scriptedmodel

import (
	"encoding/json"
	"fmt"
)

func readResponses(body []byte) (conversation, error) {
	var in struct {
		Model  string          `json:"model"`
		Stream bool            `json:"stream"`
		Input  json.RawMessage `json:"input"`
		Tools  []struct {
			Type       string `json:"type"`
			Name       string `json:"name"`
			Parameters schema `json:"parameters"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return conversation{}, err
	}
	c := conversation{model: in.Model, stream: in.Stream}
	for _, t := range in.Tools {
		if t.Type == "function" {
			c.tools = append(c.tools, tool{t.Name, t.Parameters})
		}
	}
	var items []struct {
		Type   string          `json:"type"`
		Role   string          `json:"role"`
		Output json.RawMessage `json:"output"`
	}
	if json.Unmarshal(in.Input, &items) != nil {
		return c, nil // a plain string is a first question
	}
	for _, it := range items {
		switch {
		case it.Type == "function_call", it.Role == "assistant":
			c.turns++
		case it.Type == "function_call_output":
			c.result = text(it.Output)
		}
	}
	return c, nil
}

func writeResponses(w *replier, c conversation, a answer) {
	turn := c.turns + 1
	item := object{
		"id": fmt.Sprintf("msg_%d", turn), "type": "message", "role": "assistant", "status": "completed",
		"content": []any{object{"type": "output_text", "text": a.text, "annotations": []any{}}},
	}
	if a.call != nil {
		item = object{
			"id": fmt.Sprintf("fc_%d", turn), "type": "function_call", "status": "completed",
			"call_id": a.call.id, "name": a.call.name, "arguments": a.call.args,
		}
	}
	response := func(status string, output ...any) object {
		if output == nil {
			output = []any{}
		}
		return object{"id": fmt.Sprintf("resp_%d", turn), "object": "response", "created_at": 1, "model": c.model, "status": status, "output": output}
	}
	whole := response("completed", item)
	whole["usage"] = object{
		"input_tokens": 1, "output_tokens": 1, "total_tokens": 2,
		"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0},
	}
	if !c.stream {
		w.json(whole)
		return
	}
	sequence := 0
	send := func(kind string, fields object) {
		fields["type"], fields["sequence_number"] = kind, sequence
		sequence++
		w.event(kind, fields)
	}
	at := func(fields object) object {
		fields["output_index"], fields["item_id"] = 0, item["id"]
		return fields
	}
	send("response.created", object{"response": response("in_progress")})
	send("response.output_item.added", at(object{"item": item}))
	if a.call == nil {
		send("response.output_text.delta", at(object{"content_index": 0, "delta": a.text}))
		send("response.output_text.done", at(object{"content_index": 0, "text": a.text}))
	} else {
		send("response.function_call_arguments.done", at(object{"arguments": a.call.args}))
	}
	send("response.output_item.done", at(object{"item": item}))
	send("response.completed", object{"response": whole})
}
