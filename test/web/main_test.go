// Package web tests pages, JSON, the operator's page and webhooks.
package web

import (
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
