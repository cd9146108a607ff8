"""The one thing that pyproject.toml cannot say: loops in C, wherever they compile."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "patchfold._loops",
            [
                f"src/patchfold/_{name}.c"
                for name in (
                    "loops",
                    "call",
                    "pairs",
                    "edges",
                    "vectors",
                    "search",
                    "divergence",
                    "field",
                )
            ],
            depends=["src/patchfold/_loops.h"],
            # Roots of whole vectors: nobody asks errno after one of a negative number.
            extra_compile_args=["-O3", "-fno-math-errno"],
            py_limited_api=True,
            optional=True,  # `_native.py` has arrays in their place
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
