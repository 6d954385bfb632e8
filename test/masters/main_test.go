// Package masters tests the masters beside GameSpy's, and Standard Server Queries.
package masters

import (
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
