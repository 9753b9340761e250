package client

import (
	"context"
	"fmt"
	"net"
	"time"

	"lazaret.dev/lazaret/coordinator/wire"
)

// Query asks a coordinator what its Domain is doing and closes conn. It holds
// nothing up and joins nothing, so hello needs no fingerprint.
func Query(ctx context.Context, conn net.Conn, hello wire.Hello) (wire.Status, error) {
	defer conn.Close()
	hello.Version = wire.Version
	hello.Purpose = wire.PurposeQuery
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := greet(ctx, conn, hello); err != nil {
		return wire.Status{}, err
	}
	answer, err := ask(conn, wire.Query{})
	if err != nil {
		return wire.Status{}, err
	}
	switch m := answer.(type) {
	case wire.Status:
		return m, nil
	case wire.Refused:
		return wire.Status{}, &m
	default:
		return wire.Status{}, fmt.Errorf("query coordinator: unexpected %T", m)
	}
}
