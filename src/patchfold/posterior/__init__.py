"""The parts of PatchPosterior: views, class patches, scores, their stack, anchors."""
