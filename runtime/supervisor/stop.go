package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime"
)

// politeTime bounds how long RS may take to end what it has by itself before the
// kernel does it.
const politeTime = 3 * time.Second

// errStopped is why a sandbox that was stopped has ended.
var errStopped = errors.New("the sandbox was stopped")

// Stop implements runtime.Sandbox.
func (s *sandbox) Stop(ctx context.Context) (runtime.Proof, error) {
	s.stopOnce.Do(func() { s.proof = s.stop(ctx) })
	if s.proof.Processes+s.proof.Mounts+s.proof.Files > 0 {
		return s.proof, fmt.Errorf("stop the sandbox: %s", strings.Join(s.proof.Detail, "; "))
	}
	return s.proof, nil
}

// stop ends the generation and counts what is left of it. RS is asked first, so
// that the State Anchors are unmounted by a known hand; its death then ends
// whatever it could not.
func (s *sandbox) stop(ctx context.Context) runtime.Proof {
	var proof runtime.Proof
	s.finish(errStopped)
	closeAll([]*os.File{s.boot.requests, s.boot.results})
	ctx, cancel := context.WithTimeout(ctx, politeTime)
	defer cancel()
	if err := s.boot.channel.send(message{Kind: kindStop}); err == nil {
		select {
		case <-s.boot.rs.Done():
		case <-ctx.Done():
		}
	}
	_ = s.boot.rs.Signal(unix.SIGKILL)
	<-s.boot.rs.Done() // PID 1's end is waited for by the kernel until its namespace is empty
	s.boot.channel.close()
	<-s.read
	s.boot.client.Close()
	if s.boot.slirp != nil {
		s.boot.slirp.end()
	}
	select {
	case m := <-s.stopped:
		if len(m.Counts) == 2 {
			proof.Mounts += int(m.Counts[1])
		}
		proof.Detail = append(proof.Detail, m.Names...)
	default:
		// RS died before it could count; its mount namespace died with it.
	}
	s.countProcesses(&proof)
	s.countMounts(&proof)
	s.removeDir(&proof)
	return proof
}

func (s *sandbox) countProcesses(proof *runtime.Proof) {
	for _, m := range s.boot.members {
		if !m.gone(politeTime) {
			proof.Processes++
			proof.Detail = append(proof.Detail, fmt.Sprintf("%s %d is still there", m.role, m.pid()))
		}
		m.pidfd.Close()
	}
}

// countMounts looks for mounts of the generation in this process's namespace, where
// none was ever made.
func (s *sandbox) countMounts(proof *runtime.Proof) {
	if s.spec.Dir == "" {
		return
	}
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		proof.Mounts++
		proof.Detail = append(proof.Detail, fmt.Sprintf("cannot count mounts: %v", err))
		return
	}
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) > 4 && strings.HasPrefix(unescape(fields[4])+"/", s.spec.Dir+"/") {
			proof.Mounts++
			proof.Detail = append(proof.Detail, fields[4]+" is still mounted")
		}
	}
}

// removeDir removes the generation's directory, if its owner made one: all this
// package keeps of a generation is in memory.
func (s *sandbox) removeDir(proof *runtime.Proof) {
	if s.spec.Dir == "" {
		return
	}
	if err := os.RemoveAll(s.spec.Dir); err != nil {
		proof.Detail = append(proof.Detail, err.Error())
	}
	_ = filepath.WalkDir(s.spec.Dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			proof.Files++
			proof.Detail = append(proof.Detail, path+" is still there")
		}
		return nil
	})
}
