"""The one thing that pyproject.toml cannot say: loops in C, wherever they compile."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "patchfold.backends.native._loops",
            [
                f"src/patchfold/backends/native/{name}.c"
                for name in (
                    "loops",
                    "call",
                    "neighbors",
                    "search",
                    "patches",
                    "dissimilarity",
                    "directions",
                    "graph",
                    "paths",
                    "eigenvectors",
                    "field",
                )
            ],
            depends=["src/patchfold/backends/native/loops.h"],
            # Roots of whole vectors: nobody asks errno after one of a negative number.
            extra_compile_args=["-O3", "-fno-math-errno"],
            py_limited_api=True,
            optional=True,  # `backends/native` has arrays in their place
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
