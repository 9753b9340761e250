package handover

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
)

// Mode is the hidden mode of the program that is the Host Coordinator.
const Mode = "__hc"

// The descriptors a Host Coordinator is started with.
const (
	planFD   = 3
	reportFD = 4
	lockFD   = 5
)

// Report is one message on the ready pipe.
type Report struct {
	Step       string            `cbor:"1,keyasint"` // a step that begins
	Ready      bool              `cbor:"2,keyasint"`
	Socket     string            `cbor:"3,keyasint"` // when Ready
	Generation domain.Generation `cbor:"4,keyasint"`
	Failure    *Failure          `cbor:"5,keyasint"`
}

// Failure is why a coordinator could not start.
type Failure struct {
	Kind    int    `cbor:"1,keyasint"`
	Message string `cbor:"2,keyasint"`
	Fix     string `cbor:"3,keyasint"`
}

// Err is the failure as the error the client shows.
func (f Failure) Err() error {
	return &fault.Error{Kind: fault.Kind(f.Kind), Message: f.Message, Fix: f.Fix}
}

const maxReport = 64 << 10

// Descriptors returns the files to start a coordinator with, as its descriptors
// from 3 up.
func Descriptors(sealed, reports, lock *os.File) []*os.File {
	return []*os.File{sealed, reports, lock}
}

// Seal puts p into a sealed memory file positioned at its start.
func Seal(p plan.Plan) (*os.File, error) {
	record, err := p.Encode()
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("lazaret-plan", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make plan file: %w", err)
	}
	f := os.NewFile(uintptr(fd), "lazaret-plan")
	if err := fill(f, record); err != nil {
		f.Close()
		return nil, fmt.Errorf("write plan: %w", err)
	}
	return f, nil
}

func fill(f *os.File, record []byte) error {
	if _, err := f.Write(record); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS,
		unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	return err
}

// Inherited is the coordinator's side of the handover.
type Inherited struct {
	Plan    plan.Plan
	Lock    *os.File // the locked domain.lock; closing it lets the Domain go
	reports *os.File
}

// Inherit takes over the descriptors this process was started with. None of them
// reaches a child: a child that kept the lock would keep the Domain.
func Inherit() (*Inherited, error) {
	for _, fd := range []int{planFD, reportFD, lockFD} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
			return nil, fmt.Errorf("inherit descriptor %d: %w", fd, err)
		}
	}
	sealed := os.NewFile(planFD, "plan")
	defer sealed.Close()
	h := &Inherited{Lock: os.NewFile(lockFD, "domain.lock"), reports: os.NewFile(reportFD, "reports")}
	record, err := io.ReadAll(sealed)
	if err == nil {
		h.Plan, err = plan.Decode(record)
	}
	if err != nil {
		return h, fmt.Errorf("read plan: %w", err)
	}
	return h, nil
}

// Step reports that a step begins. A client that is gone is no reason to stop.
func (h *Inherited) Step(name string) { h.send(Report{Step: name}) }

// Ready reports that the coordinator can be reached, and ends the reports.
func (h *Inherited) Ready(socket string, generation domain.Generation) {
	h.send(Report{Ready: true, Socket: socket, Generation: generation})
	h.reports.Close()
}

// Fail reports why there will be no coordinator, and ends the reports.
func (h *Inherited) Fail(err error) {
	h.send(Report{Failure: &Failure{Kind: int(fault.KindOf(err)), Message: err.Error(), Fix: fault.FixOf(err)}})
	h.reports.Close()
}

func (h *Inherited) send(r Report) {
	record, err := canon.Marshal(r)
	if err != nil {
		return
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(record)))
	_, _ = h.reports.Write(append(frame, record...))
}

// ReadReport reads one report.
func ReadReport(r io.Reader) (Report, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Report{}, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxReport {
		return Report{}, errors.New("report of the coordinator is too long")
	}
	record := make([]byte, n)
	if _, err := io.ReadFull(r, record); err != nil {
		return Report{}, err
	}
	var report Report
	err := canon.Unmarshal(record, maxReport, &report)
	return report, err
}
