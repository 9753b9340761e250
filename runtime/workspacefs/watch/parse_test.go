package watch_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/watch"
)

var (
	fsid   = unix.Fsid{Val: [2]int32{-7, 9}}
	handle = unix.NewFileHandle(1, []byte{1, 2, 3, 4, 5, 6, 7, 8})
)

// info is one record of an event, padded as the kernel pads it.
func info(kind byte, body []byte) []byte {
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	b := binary.NativeEndian.AppendUint16([]byte{kind, 0}, uint16(len(body)+4))
	return append(b, body...)
}

func named(h unix.FileHandle, name string) []byte {
	return info(unix.FAN_EVENT_INFO_TYPE_DFID_NAME, append([]byte(watch.Identity(fsid, h)+name), 0))
}

func event(mask uint64, pid int32, infos ...[]byte) []byte {
	size := unix.FAN_EVENT_METADATA_LEN
	for _, i := range infos {
		size += len(i)
	}
	b := binary.NativeEndian.AppendUint32(nil, uint32(size))
	b = append(b, 3, 0)
	b = binary.NativeEndian.AppendUint16(b, unix.FAN_EVENT_METADATA_LEN)
	b = binary.NativeEndian.AppendUint64(b, mask)
	b = binary.NativeEndian.AppendUint32(b, 0xffffffff)
	b = binary.NativeEndian.AppendUint32(b, uint32(pid))
	for _, i := range infos {
		b = append(b, i...)
	}
	return b
}

func join(parts ...[]byte) (b []byte) {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func TestParse(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 255)
	buffer := join(
		event(unix.FAN_CREATE, 0, named(handle, "a b\n\xff")),
		event(unix.FAN_MODIFY, 42, info(unix.FAN_EVENT_INFO_TYPE_FID, make([]byte, 24)), named(handle, long)),
		event(unix.FAN_ATTRIB|unix.FAN_ONDIR, 0, named(handle, "."), info(99, nil)),
		event(unix.FAN_Q_OVERFLOW, 0),
	)
	got, err := watch.Parse(buffer)
	id := watch.Identity(fsid, handle)
	want := []watch.Record{
		{Mask: unix.FAN_CREATE, Dir: id, Name: "a b\n\xff"},
		{Mask: unix.FAN_MODIFY, PID: 42, Dir: id, Name: long},
		{Mask: unix.FAN_ATTRIB | unix.FAN_ONDIR, Dir: id},
		{Mask: unix.FAN_Q_OVERFLOW},
	}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%+v, %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	good := event(unix.FAN_CREATE, 0, named(handle, "name"))
	change := func(at int, value byte) []byte {
		b := append([]byte(nil), good...)
		b[at] = value
		return b
	}
	const infoAt = unix.FAN_EVENT_METADATA_LEN
	for name, c := range map[string]struct {
		buffer []byte
		want   error
	}{
		"another version":            {change(4, 4), watch.ErrVersion},
		"cut in the metadata":        {good[:20], watch.ErrMalformed},
		"cut in the record":          {good[:len(good)-4], watch.ErrMalformed},
		"length nought":              {change(0, 0), watch.ErrMalformed},
		"longer than the buffer":     {change(1, 1), watch.ErrMalformed},
		"head longer than the event": {change(7, 1), watch.ErrMalformed},
		"short head":                 {change(6, 8), watch.ErrMalformed},
		"record without a length":    {change(infoAt+2, 0), watch.ErrMalformed},
		"record too long":            {change(infoAt+3, 1), watch.ErrMalformed},
		"place too short":            {change(infoAt+2, 12), watch.ErrMalformed},
		"handle too long":            {change(infoAt+4+8, 200), watch.ErrMalformed},
		"handle beyond the record":   {change(infoAt+4+8, 100), watch.ErrMalformed},
		"three bytes of a record":    {event(1, 0, []byte{2, 0, 7}), watch.ErrMalformed},
		"name without an end":        {event(1, 0, info(2, []byte(watch.Identity(fsid, handle)+"name"))), watch.ErrMalformed},
		"name with a slash":          {event(1, 0, named(handle, "../x")), watch.ErrMalformed},
	} {
		// What stood before is still told.
		got, err := watch.Parse(join(good, c.buffer))
		if !errors.Is(err, c.want) || len(got) != 1 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(event(unix.FAN_CREATE, 0, named(handle, "name")))
	f.Add(join(event(unix.FAN_Q_OVERFLOW, 0), event(unix.FAN_DELETE_SELF|unix.FAN_ONDIR, 5, named(handle, "."))))
	f.Add(event(unix.FAN_MODIFY, 1, info(1, make([]byte, 24)), named(handle, "x")))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := watch.Parse(b)
		if err == nil && len(b) > 0 && len(list) == 0 {
			t.Error("bytes without an event were accepted")
		}
		for _, r := range list {
			if strings.ContainsAny(r.Name, "/\x00") || len(r.Name) > len(b) || r.Name == "." {
				t.Errorf("name %q", r.Name)
			}
			if r.Dir == "" {
				continue
			}
			// What is told of an event is enough to write it again.
			size := binary.NativeEndian.Uint32([]byte(r.Dir[8:]))
			if int(size) != len(r.Dir)-16 {
				t.Errorf("a handle of %d bytes in %q", size, r.Dir)
			}
			name := r.Name
			if name == "" {
				name = "."
			}
			again, err := watch.Parse(event(r.Mask, r.PID, info(2, append([]byte(r.Dir+name), 0))))
			if err != nil || len(again) != 1 || again[0] != r {
				t.Errorf("%+v became %+v, %v", r, again, err)
			}
		}
	})
}
