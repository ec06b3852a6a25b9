package controller

import "github.com/ottla/ottla/controller/image"

// Incarnation is the id of this start of the process. Its broker registers with it: the controller in the same
// process knows by it that the broker's former life is over.
func (c *Controller) Incarnation() image.ID { return c.incarnation }
