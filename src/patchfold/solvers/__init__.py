"""Matrices and objectives -> embeddings, each with its extension to new samples."""
