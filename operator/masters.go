package operator

import (
	"context"
	"time"
)

// OtherMaster is the state of another master whose servers are listed here.
type OtherMaster struct {
	Name     string `json:"name"`
	Protocol string `json:"protocol"`
	Address  string `json:"address"`
	Game     string `json:"game,omitempty"`
	Verified bool   `json:"verified,omitempty"` // its servers are listed without a query of our own

	State    string    `json:"state"`                 // one of the Master states
	Error    string    `json:"error,omitempty"`       // of the last reading; after a success the part of the list that is not used
	Failures int       `json:"failures"`              // readings in a row that failed
	Read     time.Time `json:"last_success,omitzero"` // last reading that did not fail
	Next     time.Time `json:"next,omitzero"`         // time of the next reading; zero: one is under way

	Told    int            `json:"told"`    // servers that it lists, without the refused ones
	Listed  int            `json:"listed"`  // of them in our list on its word or as known from it
	Refused map[string]int `json:"refused"` // entries of the last reading, by reason
}

// The states of an OtherMaster.
const (
	MasterWaiting = "waiting" // not read yet
	MasterReading = "reading" // it is being read for the first time
	MasterRead    = "read"
	MasterFailing = "failing"
	MasterElse    = "elsewhere" // another node of the cluster reads it
)

// ListMasters returns the other masters that are read, in the order of the configuration.
var ListMasters = New(Operation{
	Name: "federation status", Route: "GET /federation", What: "Show the state of the other masters and the numbers of their servers",
}, func(_ context.Context, l *Local, _ None) ([]OtherMaster, error) {
	if l.OtherMasters == nil {
		return nil, ErrNotRunning
	}
	list := l.OtherMasters()
	if list == nil {
		list = []OtherMaster{}
	}
	return list, nil
})
