// Package canon is the one place that encodes and decodes Lazaret's records:
// deterministic CBOR (RFC 8949 §4.2.1, core), strictly decoded and then encoded
// again and compared, so that exactly one byte string stands for each value.
//
// It owns the encoding rules and nothing of what is encoded. It must stay small:
// the client inside the sandbox is built from it.
package canon

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// ErrNotCanonical is returned for bytes that decode but are not the canonical
// encoding of what they decode to.
var ErrNotCanonical = errors.New("record is not in canonical form")

const (
	maxNesting  = 8
	maxElements = 65536
)

var (
	encoder = must(cbor.CoreDetEncOptions().EncMode())
	decoder = must(cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		UTF8:              cbor.UTF8RejectInvalid,
		MaxNestedLevels:   maxNesting,
		MaxArrayElements:  maxElements,
		MaxMapPairs:       maxElements,
	}.DecMode())
)

// Marshal returns the canonical encoding of v. Records use integer keys
// (`cbor:"1,keyasint"`), no floats and no tags.
func Marshal(v any) ([]byte, error) {
	b, err := encoder.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return b, nil
}

// Unmarshal decodes b, at most limit bytes long, into the record v points to.
// It refuses unknown fields, duplicate keys, tags, indefinite lengths, trailing
// bytes, bad UTF-8, and every encoding other than the canonical one.
func Unmarshal(b []byte, limit int, v any) error {
	if len(b) > limit {
		return fmt.Errorf("decode %T: %d bytes exceed the limit of %d", v, len(b), limit)
	}
	if err := decoder.Unmarshal(b, v); err != nil {
		return fmt.Errorf("decode %T: %w", v, err)
	}
	again, err := Marshal(v)
	if err != nil {
		return err
	}
	if !bytes.Equal(b, again) {
		return fmt.Errorf("decode %T: %w", v, ErrNotCanonical)
	}
	return nil
}

// must is for package initialisation from constants only.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
