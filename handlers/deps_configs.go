package handlers

import "github.com/ottla/ottla/internal/config"

// Configs is this broker's settings.
type Configs interface {
	// Broker is the settings in force now: file, environment, and dynamic settings of this broker and
	// of the cluster. Settings of a topic come from Broker().Topic(image.Configs(…)).
	Broker() *config.Broker
}
