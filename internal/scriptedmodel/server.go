package scriptedmodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// maxBody bounds a request: agents send their whole conversation and all tools.
const maxBody = 32 << 20

// Server answers from Script. It is an http.Handler.
type Server struct {
	Script Script
	// Record, when set, gets one line of JSON per request.
	Record io.Writer

	mu sync.Mutex // orders the lines of Record
}

// dialect is one API: how its requests are read and its answers written.
type dialect struct {
	suffix string
	read   func(body []byte) (conversation, error)
	write  func(w *replier, c conversation, a answer)
}

var dialects = []dialect{
	{"/chat/completions", readChat, writeChat},
	{"/responses", readResponses, writeResponses},
	{"/messages", readMessages, writeMessages},
}

// ServeHTTP dispatches on the end of the path, so that any base URL serves.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.record(r, body)
	path := strings.TrimSuffix(r.URL.Path, "/")
	reply := &replier{w: w}
	switch {
	case strings.HasSuffix(path, "/count_tokens"):
		reply.json(map[string]any{"input_tokens": 1})
		return
	case strings.HasSuffix(path, "/models"):
		reply.json(map[string]any{"object": "list", "data": []any{map[string]any{"id": "scripted", "object": "model", "created": 1, "owned_by": "scripted"}}})
		return
	}
	for _, d := range dialects {
		if !strings.HasSuffix(path, d.suffix) {
			continue
		}
		c, err := d.read(body)
		if err != nil {
			http.Error(w, fmt.Sprintf("read %s: %v", d.suffix, err), http.StatusBadRequest)
			return
		}
		d.write(reply, c, s.Script.next(c))
		return
	}
	http.NotFound(w, r)
}

func (s *Server) record(r *http.Request, body []byte) {
	if s.Record == nil {
		return
	}
	line := struct {
		Method, Path string
		Body         json.RawMessage `json:",omitempty"`
	}{r.Method, r.URL.Path, nil}
	if json.Valid(body) {
		line.Body = body
	}
	b, err := json.Marshal(line)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.Record.Write(append(b, '\n')) // a lost line costs a test its evidence, not the agent its answer
}

// replier writes one answer, whole or as server-sent events.
type replier struct{ w http.ResponseWriter }

func (r *replier) json(v any) {
	r.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(r.w).Encode(v) // the agent went away
}

// event writes one event; name may be empty.
func (r *replier) event(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only maps, strings and numbers are given
	}
	r.raw(name, string(b))
}

func (r *replier) raw(name, data string) {
	r.w.Header().Set("Content-Type", "text/event-stream")
	r.w.Header().Set("Cache-Control", "no-cache")
	if name != "" {
		fmt.Fprintf(r.w, "event: %s\n", name)
	}
	fmt.Fprintf(r.w, "data: %s\n\n", data)
	if f, ok := r.w.(http.Flusher); ok {
		f.Flush()
	}
}

// object is a JSON object of an answer.
type object = map[string]any
