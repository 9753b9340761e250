package scriptedmodel_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/scriptedmodel"
)

var script = scriptedmodel.Script{{Run: "lazaret-escalate -- uname -a"}, {Say: "got: " + scriptedmodel.Result}}

func post(t *testing.T, path, body string) string {
	t.Helper()
	server := httptest.NewServer(&scriptedmodel.Server{Script: script})
	defer server.Close()
	resp, err := http.Post(server.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", path, resp.Status, err, b)
	}
	return string(b)
}

// events parses server-sent events into their data, and checks that each is JSON.
func events(t *testing.T, stream string) (names []string, data []map[string]any) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(stream))
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			names = append(names, name)
		}
		d, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || d == "[DONE]" {
			continue
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(d), &v); err != nil {
			t.Fatalf("%q: %v", d, err)
		}
		data = append(data, v)
	}
	return names, data
}

// dig walks maps and lists.
func dig(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

const (
	chatTools = `"tools":[{"type":"function","function":{"name":"bash","parameters":{"type":"object",
		"properties":{"command":{"type":"string"},"description":{"type":"string"},"timeout":{"type":"number"}},"required":["command","description"]}}}]`
	responsesTools = `"tools":[{"type":"custom","name":"apply_patch"},{"type":"function","name":"shell",
		"parameters":{"type":"object","properties":{"command":{"type":"array"}},"required":["command"]}}]`
	messagesTools = `"tools":[{"name":"Bash","input_schema":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}]`
)

func TestChat(t *testing.T) {
	t.Parallel()
	_, first := events(t, post(t, "/v1/chat/completions", `{"model":"m","stream":true,`+chatTools+`,"messages":[{"role":"user","content":"go"}]}`))
	call := dig(first[0], "choices", 0, "delta", "tool_calls", 0, "function")
	if dig(call, "name") != "bash" || dig(call, "arguments") != `{"command":"lazaret-escalate -- uname -a","description":"scripted"}` {
		t.Errorf("the call is %v", call)
	}
	if dig(first[1], "choices", 0, "finish_reason") != "tool_calls" {
		t.Errorf("finished by %v", first[1])
	}
	second := post(t, "/v1/chat/completions", `{"model":"m",`+chatTools+`,"messages":[{"role":"user","content":"go"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_1"}]},{"role":"tool","tool_call_id":"call_1","content":[{"type":"text","text":"Linux"}]}]}`)
	var whole map[string]any
	if err := json.Unmarshal([]byte(second), &whole); err != nil || dig(whole, "choices", 0, "message", "content") != "got: Linux" {
		t.Errorf("the answer is %s", second)
	}
}

func TestResponses(t *testing.T) {
	t.Parallel()
	names, first := events(t, post(t, "/responses", `{"model":"m","stream":true,`+responsesTools+`,"input":"go"}`))
	if names[0] != "response.created" || names[len(names)-1] != "response.completed" {
		t.Errorf("events are %v", names)
	}
	item := dig(first[len(first)-1], "response", "output", 0)
	if dig(item, "type") != "function_call" || dig(item, "arguments") != `{"command":["sh","-c","lazaret-escalate -- uname -a"]}` {
		t.Errorf("the call is %v", item)
	}
	_, second := events(t, post(t, "/responses", `{"model":"m","stream":true,`+responsesTools+`,"input":[{"type":"message","role":"user","content":[]},
		{"type":"reasoning"},{"type":"function_call","call_id":"call_1"},{"type":"function_call_output","call_id":"call_1","output":"Linux"}]}`))
	if got := dig(second[len(second)-1], "response", "output", 0, "content", 0, "text"); got != "got: Linux" {
		t.Errorf("the answer is %v", got)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	names, first := events(t, post(t, "/v1/messages?beta=true", `{"model":"m","stream":true,`+messagesTools+`,"messages":[{"role":"user","content":"go"}]}`))
	want := "message_start content_block_start content_block_delta content_block_stop message_delta message_stop"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("events are %s", got)
	}
	if got := dig(first[2], "delta", "partial_json"); got != `{"command":"lazaret-escalate -- uname -a"}` {
		t.Errorf("the arguments are %v", got)
	}
	history := `"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_call_1"}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_call_1","content":[{"type":"text","text":"Linux"}]}]}`
	var whole map[string]any
	second := post(t, "/v1/messages", `{"model":"m",`+messagesTools+`,`+history+`]}`)
	if err := json.Unmarshal([]byte(second), &whole); err != nil || dig(whole, "content", 0, "text") != "got: Linux" {
		t.Errorf("the answer is %s", second)
	}
	third := post(t, "/v1/messages", `{"model":"m",`+messagesTools+`,`+history+`,{"role":"assistant","content":"got: Linux"},{"role":"user","content":"more"}]}`)
	if !strings.Contains(third, scriptedmodel.Ended) {
		t.Errorf("after the end: %s", third)
	}
}

func TestRequestsWithoutToolsTakeNoStep(t *testing.T) {
	t.Parallel()
	if got := post(t, "/v1/messages", `{"model":"m","messages":[{"role":"user","content":"title?"}]}`); !strings.Contains(got, `"ok"`) {
		t.Errorf("got %s", got)
	}
}

func TestNoShellToolIsSaid(t *testing.T) {
	t.Parallel()
	got := post(t, "/v1/messages", `{"tools":[{"name":"Read"}],"messages":[]}`)
	if !strings.Contains(got, "No shell tool was offered, only: Read") {
		t.Errorf("got %s", got)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	var record bytes.Buffer
	server := httptest.NewServer(&scriptedmodel.Server{Script: script, Record: &record})
	defer server.Close()
	for path, want := range map[string]int{"/v1/messages": http.StatusBadRequest, "/v1/unknown": http.StatusNotFound} {
		resp, err := http.Post(server.URL+path, "application/json", strings.NewReader("{"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	if lines := strings.Count(record.String(), "\n"); lines != 2 {
		t.Errorf("%d requests were recorded: %s", lines, record.String())
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	if s, err := scriptedmodel.Parse([]byte(`[{"run":"ls"},{"say":"x"}]`)); err != nil || len(s) != 2 {
		t.Errorf("got %v, %v", s, err)
	}
	for _, bad := range []string{``, `{}`, `[]`, `[{}]`, `[{"run":"a","say":"b"}]`, `[{"shell":"a"}]`} {
		if s, err := scriptedmodel.Parse([]byte(bad)); err == nil {
			t.Errorf("%s: accepted as %v", bad, s)
		}
	}
}
