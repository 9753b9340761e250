// Command scriptedmodel serves a scripted model on loopback for tests with real
// agents. Its first line of output is the address it listens on.
//
//	go run ./internal/scriptedmodel/cmd/scriptedmodel -run "/run/lazaret/bin/lazaret-escalate -- uname -a"
//
// Name programs by path: agents start login shells, which set PATH anew.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"lazaret.dev/lazaret/internal/scriptedmodel"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "scriptedmodel:", err)
		os.Exit(1)
	}
}

func serve() error {
	listen := flag.String("listen", "127.0.0.1:0", "`address` to listen on; port 0 takes a free one")
	script := flag.String("script", "", "`file` with a JSON list of steps, each {\"run\": COMMAND} or {\"say\": TEXT}")
	run := flag.String("run", "/run/lazaret/bin/lazaret-escalate --why 'the script asks' -- uname -a", "without -script: `command` to run before its result is said")
	record := flag.String("record", "", "append every request to `file`")
	flag.Parse()
	s := &scriptedmodel.Server{Script: scriptedmodel.Script{{Run: *run}, {Say: "The host said: " + scriptedmodel.Result}}}
	if *script != "" {
		b, err := os.ReadFile(*script)
		if err != nil {
			return err
		}
		if s.Script, err = scriptedmodel.Parse(b); err != nil {
			return fmt.Errorf("%s: %w", *script, err)
		}
	}
	if *record != "" {
		f, err := os.OpenFile(*record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		s.Record = io.Writer(f)
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	return server.Serve(l)
}
