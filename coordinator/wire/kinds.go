package wire

import "lazaret.dev/lazaret/internal/canon"

// kinds is the whole protocol: every message either end may send, and how its
// record is read.
var kinds = map[Kind]func([]byte) (Message, error){
	KindHello:       read[Hello],
	KindStart:       read[Start],
	KindInput:       read[Input],
	KindInputEOF:    read[InputEOF],
	KindResize:      read[Resize],
	KindSignal:      read[Signal],
	KindClose:       read[Close],
	KindDecide:      read[Decide],
	KindQuery:       read[Query],
	KindWelcome:     read[Welcome],
	KindStarted:     read[Started],
	KindOutput:      read[Output],
	KindExit:        read[Exit],
	KindRefused:     read[Refused],
	KindPending:     read[Pending],
	KindResolved:    read[Resolved],
	KindStatus:      read[Status],
	KindNotice:      read[Notice],
	KindInputCredit: read[InputCredit],
}

func read[M Message](record []byte) (Message, error) {
	var m M
	if err := canon.Unmarshal(record, MaxFrame, &m); err != nil {
		return nil, err
	}
	return m, nil
}

// The kind of each message.
func (Hello) Kind() Kind       { return KindHello }
func (Start) Kind() Kind       { return KindStart }
func (Input) Kind() Kind       { return KindInput }
func (InputEOF) Kind() Kind    { return KindInputEOF }
func (Resize) Kind() Kind      { return KindResize }
func (Signal) Kind() Kind      { return KindSignal }
func (Close) Kind() Kind       { return KindClose }
func (Decide) Kind() Kind      { return KindDecide }
func (Query) Kind() Kind       { return KindQuery }
func (Welcome) Kind() Kind     { return KindWelcome }
func (Started) Kind() Kind     { return KindStarted }
func (Output) Kind() Kind      { return KindOutput }
func (Exit) Kind() Kind        { return KindExit }
func (Refused) Kind() Kind     { return KindRefused }
func (Pending) Kind() Kind     { return KindPending }
func (Resolved) Kind() Kind    { return KindResolved }
func (Status) Kind() Kind      { return KindStatus }
func (Notice) Kind() Kind      { return KindNotice }
func (InputCredit) Kind() Kind { return KindInputCredit }
