package ssl3

import (
	"errors"
	"fmt"
	"strconv"
)

// Alert is the description of an alert: the reason for which a side ends a
// connection.
type Alert byte

// The alerts that this package sends. SSL 3.0 has no others that fit.
const (
	AlertCloseNotify       Alert = 0 // the end of the data, no error
	AlertUnexpectedMessage Alert = 10
	AlertBadRecordMAC      Alert = 20
	AlertHandshakeFailure  Alert = 40
	AlertIllegalParameter  Alert = 47
)

// String returns the name of the alert in the protocol.
func (a Alert) String() string {
	switch a {
	case AlertCloseNotify:
		return "close_notify"
	case AlertUnexpectedMessage:
		return "unexpected_message"
	case AlertBadRecordMAC:
		return "bad_record_mac"
	case AlertHandshakeFailure:
		return "handshake_failure"
	case AlertIllegalParameter:
		return "illegal_parameter"
	default:
		return "alert " + strconv.Itoa(int(a))
	}
}

// Refusal is a record with the alert that refuses a handshake, for connections that have no certificate.
func Refusal() []byte {
	return new(half).seal(nil, typeAlert, []byte{levelFatal, byte(AlertHandshakeFailure)})
}

// Levels of an alert.
const (
	levelWarning = 1
	levelFatal   = 2
)

// protocolError is a violation of the protocol by the peer. The peer gets its alert.
type protocolError struct {
	alert Alert
	err   error
}

// Error describes the violation.
func (e *protocolError) Error() string { return e.err.Error() + " (" + e.alert.String() + ")" }

// Unwrap returns the error without the alert.
func (e *protocolError) Unwrap() error { return e.err }

func violation(a Alert, text string) error { return &protocolError{a, errors.New(text)} }

// alertOf returns the alert for the peer after an error, false if it gets none.
func alertOf(err error) (Alert, bool) {
	if e, ok := errors.AsType[*protocolError](err); ok {
		return e.alert, true
	}
	return 0, false
}

// PeerError is a fatal alert of the peer.
type PeerError struct{ Alert Alert }

// Error names the alert.
func (e *PeerError) Error() string { return fmt.Sprintf("the peer ended the connection: %s", e.Alert) }
