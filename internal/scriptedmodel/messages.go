package scriptedmodel

import (
	"encoding/json"
	"fmt"
)

// block is a part of a message's content.
type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"`
}

func readMessages(body []byte) (conversation, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name   string `json:"name"`
			Schema schema `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return conversation{}, err
	}
	c := conversation{model: in.Model, stream: in.Stream}
	for _, t := range in.Tools {
		c.tools = append(c.tools, tool{t.Name, t.Schema})
	}
	for _, m := range in.Messages {
		for _, b := range blocks(m.Content) {
			switch {
			case m.Role == "assistant" && (b.Type == "tool_use" || b.Type == "text" && b.Text != ""):
				c.turns++
			case b.Type == "tool_result":
				c.result = text(b.Content)
			}
		}
	}
	return c, nil
}

// blocks reads a content that is a list of blocks or a plain string.
func blocks(raw json.RawMessage) []block {
	var list []block
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	return []block{{Type: "text", Text: text(raw)}}
}

func writeMessages(w *replier, c conversation, a answer) {
	content, stop := object{"type": "text", "text": a.text}, "end_turn"
	if a.call != nil {
		content, stop = object{"type": "tool_use", "id": "toolu_" + a.call.id, "name": a.call.name, "input": json.RawMessage(a.call.args)}, "tool_use"
	}
	message := object{
		"id": fmt.Sprintf("msg_%d", c.turns+1), "type": "message", "role": "assistant", "model": c.model,
		"content": []any{content}, "stop_reason": stop, "stop_sequence": nil, "usage": object{"input_tokens": 1, "output_tokens": 1},
	}
	if !c.stream {
		w.json(message)
		return
	}
	message["content"], message["stop_reason"] = []any{}, nil
	start, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": a.text}
	if a.call != nil {
		start = object{"type": "tool_use", "id": content["id"], "name": a.call.name, "input": object{}}
		delta = object{"type": "input_json_delta", "partial_json": a.call.args}
	}
	send := func(kind string, fields object) {
		fields["type"] = kind
		w.event(kind, fields)
	}
	send("message_start", object{"message": message})
	send("content_block_start", object{"index": 0, "content_block": start})
	send("content_block_delta", object{"index": 0, "delta": delta})
	send("content_block_stop", object{"index": 0})
	send("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 1}})
	send("message_stop", object{})
}
